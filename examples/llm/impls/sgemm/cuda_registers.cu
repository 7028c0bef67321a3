/* Idea: as cuda_tiled, but each thread computes 8 x 8 elements, so that 16 numbers from shared memory serve 64 products. Traffic: a
 * and b once for each 128 columns or rows of c. Rounding: a plain loop in f32. Limits: small matrices leave multiprocessors idle.
 * Origin: common practice. */
#include "common/rows.cuh"

enum { TILE = 128, DEPTH = 8, EACH = 8, ACROSS = TILE / EACH, THREADS = ACROSS * ACROSS };

/* A thread's rows and columns lie ACROSS apart, so that lanes read neighbours. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) sgemm_kernel(const T *a, const T *b, T *c, size_t m, size_t n, size_t k) {
    __shared__ float tile_a[DEPTH][TILE + 4], tile_b[DEPTH][TILE];
    const unsigned x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
    const size_t first_column = (size_t)blockIdx.x * TILE, first_row = (size_t)blockIdx.y * TILE;
    float sums[EACH][EACH] = {};
    for (size_t begin = 0; begin < k; begin += DEPTH) {
        for (unsigned i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
            const size_t row = first_row + i / DEPTH, at = begin + i % DEPTH;
            tile_a[i % DEPTH][i / DEPTH] = row < m && at < k ? wide(a[row * k + at]) : 0;
        }
        for (unsigned i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
            const size_t column = first_column + i % TILE, at = begin + i / TILE;
            tile_b[i / TILE][i % TILE] = column < n && at < k ? wide(b[at * n + column]) : 0;
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++) {
            float column[EACH];
#pragma unroll
            for (int j = 0; j < EACH; j++) column[j] = tile_b[d][x + j * ACROSS];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const float row = tile_a[d][y + i * ACROSS];
#pragma unroll
                for (int j = 0; j < EACH; j++) sums[i][j] += row * column[j];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const size_t row = first_row + y + i * ACROSS, column = first_column + x + j * ACROSS;
            if (row < m && column < n) store(&c[row * n + column], sums[i][j]);
        }
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t m = args->out[0].shape[0], n = args->out[0].shape[1], k = args->in[0].shape[1];
        return launch(sgemm_kernel<T>, {dim3(blocks_of(n, TILE), blocks_of(m, TILE)), THREADS, 0, args->stream}, input<T>(args, 0),
                      input<T>(args, 1), output<T>(args, 0), m, n, k);
    });
}

RUNGS_VARIANT(sgemm, cuda_registers) = {.backend = BACKEND_CUDA,
                                        .summary = "8 x 8 elements a thread, in registers",
                                        .origin = "common practice",
                                        .dtypes = ROW_TYPES,
                                        .run = run};
