/* Idea: one thread per row, three passes. Traffic: neighbouring threads read C elements apart, so that each read is a sector of its
 * own.
 * Rounding: plain loops in f32. Limits: few rows leave the device idle. Origin: the definition. */
#include "common/rows.cuh"

enum { THREADS = 128 };

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    layernorm_kernel(const T *x, const T *weight, const T *bias, T *y, T *mean, T *rstd, size_t rows, size_t C, float eps) {
    const size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    x += row * C, y += row * C;
    float sum = 0, squares = 0;
    for (size_t i = 0; i < C; i++) sum += wide(x[i]);
    const float m = sum / (float)C;
    for (size_t i = 0; i < C; i++) squares += (wide(x[i]) - m) * (wide(x[i]) - m);
    const float r = rsqrtf(squares / (float)C + eps);
    for (size_t i = 0; i < C; i++) store(&y[i], (wide(x[i]) - m) * r * wide(weight[i]) + wide(bias[i]));
    store(&mean[row], m), store(&rstd[row], r);
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t rows = args->in[0].shape[0], C = args->in[0].shape[1];
        return launch(layernorm_kernel<T>, {blocks_of(rows, THREADS), THREADS, 0, args->stream}, input<T>(args, 0),
                      input<T>(args, 1), input<T>(args, 2), output<T>(args, 0), output<T>(args, 1), output<T>(args, 2), rows, C,
                      (float)params_real(&args->problem->params, "eps"));
    });
}

RUNGS_VARIANT(layernorm, cuda_thread_row) = {
    .backend = BACKEND_CUDA, .summary = "one thread per row", .origin = "the definition", .dtypes = ROW_TYPES, .run = run};
