/* Idea: y = 2 x, the first elements a second time: a kernel bound by memory. Elements done twice get the same value twice.
 * Traffic: every element once, and RUNGS_EXTRA_PERCENT of them once more; long after their first time, so L2 has lost them where the
 *          arrays are much larger than it.
 * Rounding: exact.
 * Limits: none.
 * Origin: ours; a slow-down of known size for `rungs compare` to find. It tells no launch, so that equal code is judged by its times. */
#include "extra.h"
#include "kernel.h"
#include "variant.h"

enum { THREADS = 128 };

template <typename T> static __global__ void __launch_bounds__(THREADS) again_kernel(const T *x, T *y, size_t n, size_t total) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const size_t k = i < n ? i : i - n;
    y[k] = 2 * x[k];
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), total = n + n * RUNGS_EXTRA_PERCENT / 100;
    if (n == 0) return STATUS_OK;
    const unsigned blocks = (unsigned)((total + THREADS - 1) / THREADS);
    return launch(again_kernel<T>, {blocks, THREADS, 0, args->stream}, (const T *)args->in[0].data, (T *)args->out[0].data, n,
                  total);
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? run_typed<double>(args) : run_typed<float>(args);
}

RUNGS_VARIANT(double, cuda_again) = {
    .backend = BACKEND_CUDA,
    .summary = "some elements a second time: bound by memory",
    .origin = "ours",
    .run = run,
};
