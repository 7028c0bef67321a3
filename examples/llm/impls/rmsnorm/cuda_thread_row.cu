/* Idea: one thread per row, two passes. Traffic: neighbouring threads read C elements apart, so that each read is a sector of its
 * own.
 * Rounding: a plain loop in f32. Limits: few rows leave the device idle. Origin: the definition. */
#include "common/rows.cuh"

enum { THREADS = 128 };

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    rmsnorm_kernel(const T *x, const T *weight, T *y, size_t rows, size_t C, float eps) {
    const size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    x += row * C, y += row * C;
    float squares = 0;
    for (size_t i = 0; i < C; i++) squares += wide(x[i]) * wide(x[i]);
    const float r = rsqrtf(squares / (float)C + eps);
    for (size_t i = 0; i < C; i++) store(&y[i], wide(x[i]) * r * wide(weight[i]));
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t rows = args->in[0].shape[0], C = args->in[0].shape[1];
        return launch(rmsnorm_kernel<T>, {blocks_of(rows, THREADS), THREADS, 0, args->stream}, input<T>(args, 0), input<T>(args, 1),
                      output<T>(args, 0), rows, C, (float)params_real(&args->problem->params, "eps"));
    });
}

RUNGS_VARIANT(rmsnorm, cuda_thread_row) = {
    .backend = BACKEND_CUDA, .summary = "one thread per row", .origin = "the definition", .dtypes = ROW_TYPES, .run = run};
