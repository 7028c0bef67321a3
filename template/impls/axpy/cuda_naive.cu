/* Idea: one thread per element. Traffic: reads x and y once, writes z once, coalesced. Rounding: one (fused multiply and add).
 * Limits: none. Origin: the definition. */
#include "kernel.h"
#include "variant.h"

enum { THREADS = 128 };

template <typename T> static __global__ void __launch_bounds__(THREADS) axpy_kernel(T a, const T *x, const T *y, T *z, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const size_t n = array_count(&args->out[0]);
    if (n == 0) return STATUS_OK;
    const T a = (T)params_real(&args->problem->params, "a");
    const unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
    return launch(axpy_kernel<T>, {blocks, THREADS, 0, args->stream}, a, (const T *)args->in[0].data, (const T *)args->in[1].data,
                  (T *)args->out[0].data, n);
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? run_typed<double>(args) : run_typed<float>(args);
}

RUNGS_VARIANT(axpy,
              cuda_naive) = {.backend = BACKEND_CUDA, .summary = "one thread per element", .origin = "the definition", .run = run};
