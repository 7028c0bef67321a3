/* Idea: one warp per row; lanes read neighbours and join their sums by shuffles. Traffic: x three times, of which caches serve two
 * where rows fit. Rounding: chains of C / 32, then a tree. Limits: rows of fewer than 32 elements leave lanes idle. Origin: common
 * practice. */
#include "common/rows.cuh"

enum { THREADS = 256 };

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    layernorm_kernel(const T *x, const T *weight, const T *bias, T *y, T *mean, T *rstd, size_t rows, size_t C, float eps) {
    const size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    const unsigned lane = threadIdx.x % WARP;
    if (row >= rows) return;
    x += row * C, y += row * C;
    float sum = 0, squares = 0;
    for (size_t i = lane; i < C; i += WARP) sum += wide(x[i]);
    const float m = warp_sum(sum) / (float)C;
    for (size_t i = lane; i < C; i += WARP) squares += (wide(x[i]) - m) * (wide(x[i]) - m);
    const float r = rsqrtf(warp_sum(squares) / (float)C + eps);
    for (size_t i = lane; i < C; i += WARP) store(&y[i], (wide(x[i]) - m) * r * wide(weight[i]) + wide(bias[i]));
    if (lane == 0) store(&mean[row], m), store(&rstd[row], r);
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t rows = args->in[0].shape[0], C = args->in[0].shape[1];
        return launch(layernorm_kernel<T>, {blocks_of(rows, THREADS / WARP), THREADS, 0, args->stream}, input<T>(args, 0),
                      input<T>(args, 1), input<T>(args, 2), output<T>(args, 0), output<T>(args, 1), output<T>(args, 2), rows, C,
                      (float)params_real(&args->problem->params, "eps"));
    });
}

RUNGS_VARIANT(layernorm, cuda_warp_row) = {
    .backend = BACKEND_CUDA, .summary = "one warp per row", .origin = "common practice", .dtypes = ROW_TYPES, .run = run};
