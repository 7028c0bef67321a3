/* Idea: a block computes a tile of c from tiles of a and b in shared memory, which each element enters once. Traffic: a and b once
 * for each 32 columns or rows of c. Rounding: a plain loop in f32. Limits: none. Origin: common practice. */
#include "common/rows.cuh"

enum { SIDE = 32 };

template <typename T>
static __global__ void __launch_bounds__(SIDE *SIDE) sgemm_kernel(const T *a, const T *b, T *c, size_t m, size_t n, size_t k) {
    __shared__ float tile_a[SIDE][SIDE], tile_b[SIDE][SIDE];
    const unsigned x = threadIdx.x, y = threadIdx.y;
    const size_t column = (size_t)blockIdx.x * SIDE + x, row = (size_t)blockIdx.y * SIDE + y;
    float sum = 0;
    for (size_t begin = 0; begin < k; begin += SIDE) {
        tile_a[y][x] = row < m && begin + x < k ? wide(a[row * k + begin + x]) : 0;
        tile_b[y][x] = column < n && begin + y < k ? wide(b[(begin + y) * n + column]) : 0;
        __syncthreads();
        for (int i = 0; i < SIDE; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < m && column < n) store(&c[row * n + column], sum);
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t m = args->out[0].shape[0], n = args->out[0].shape[1], k = args->in[0].shape[1];
        return launch(sgemm_kernel<T>, {dim3(blocks_of(n, SIDE), blocks_of(m, SIDE)), dim3(SIDE, SIDE), 0, args->stream},
                      input<T>(args, 0), input<T>(args, 1), output<T>(args, 0), m, n, k);
    });
}

RUNGS_VARIANT(sgemm, cuda_tiled) = {
    .backend = BACKEND_CUDA, .summary = "tiles in shared memory", .origin = "common practice", .dtypes = ROW_TYPES, .run = run};
