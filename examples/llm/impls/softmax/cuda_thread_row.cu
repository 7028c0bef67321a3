/* Idea: one thread per row, three passes: maximum, sum, quotient. Traffic: neighbouring threads read C elements apart, so that each
 * read is a sector of its own. Rounding: a plain loop in f32. Limits: few rows leave the device idle. Origin: the definition. */
#include "common/rows.cuh"

enum { THREADS = 128 };

template <typename T> static __global__ void __launch_bounds__(THREADS) softmax_kernel(const T *x, T *y, size_t rows, size_t C) {
    const size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    x += row * C, y += row * C;
    float most = wide(x[0]), sum = 0;
    for (size_t i = 1; i < C; i++) most = fmaxf(most, wide(x[i]));
    for (size_t i = 0; i < C; i++) sum += expf(wide(x[i]) - most);
    for (size_t i = 0; i < C; i++) store(&y[i], expf(wide(x[i]) - most) / sum);
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t rows = args->in[0].shape[0], C = args->in[0].shape[1];
        return launch(softmax_kernel<T>, {blocks_of(rows, THREADS), THREADS, 0, args->stream}, input<T>(args, 0),
                      output<T>(args, 0), rows, C);
    });
}

RUNGS_VARIANT(softmax, cuda_thread_row) = {
    .backend = BACKEND_CUDA, .summary = "one thread per row", .origin = "the definition", .dtypes = ROW_TYPES, .run = run};
