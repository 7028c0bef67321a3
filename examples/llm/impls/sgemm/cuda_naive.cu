/* Idea: one thread per element of c. Traffic: a row of a and a column of b for each. Rounding: a plain loop in f32. Limits: none.
 * Origin: the definition. */
#include "common/rows.cuh"

enum { SIDE = 16 };

template <typename T>
static __global__ void __launch_bounds__(SIDE *SIDE) sgemm_kernel(const T *a, const T *b, T *c, size_t m, size_t n, size_t k) {
    const size_t column = (size_t)blockIdx.x * SIDE + threadIdx.x, row = (size_t)blockIdx.y * SIDE + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (size_t i = 0; i < k; i++) sum += wide(a[row * k + i]) * wide(b[i * n + column]);
    store(&c[row * n + column], sum);
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t m = args->out[0].shape[0], n = args->out[0].shape[1], k = args->in[0].shape[1];
        return launch(sgemm_kernel<T>, {dim3(blocks_of(n, SIDE), blocks_of(m, SIDE)), dim3(SIDE, SIDE), 0, args->stream},
                      input<T>(args, 0), input<T>(args, 1), output<T>(args, 0), m, n, k);
    });
}

RUNGS_VARIANT(sgemm, cuda_naive) = {
    .backend = BACKEND_CUDA, .summary = "one thread per element", .origin = "the definition", .dtypes = ROW_TYPES, .run = run};
