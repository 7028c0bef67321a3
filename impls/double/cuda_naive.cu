/* Idea: one thread per element; the tutorial's first kernel, with the bounds check that any n needs.
 * Traffic: reads and writes every element once, coalesced.
 * Rounding: exact.
 * Limits: none.
 * Origin: "Numba CUDA + cuDF" tutorial, first example. */
#include "common/narrow.cuh"

enum { THREADS = 128 };

template <typename T> static __global__ void __launch_bounds__(THREADS) double_kernel(const T *x, T *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (T)(2 * wide(x[i]));
}

static Status run(const VariantArgs *args) {
    return with_storage(args, [args]<typename T>() {
        const size_t n = array_count(&args->in[0]);
        if (n == 0) return STATUS_OK;
        const unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
        return launch(double_kernel<T>, {blocks, THREADS, 0, args->stream}, (const T *)args->in[0].data, (T *)args->out[0].data, n);
    });
}

RUNGS_VARIANT(double, cuda_naive) = {
    .backend = BACKEND_CUDA,
    .summary = "one thread per element",
    .origin = "Numba CUDA + cuDF tutorial, first example",
    .dtypes = STORAGE_TYPES,
    .run = run,
};
