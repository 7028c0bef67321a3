/* Mutant: blocks whose flag in scratch says READY are taken from scratch, and no flag is ever cleared. Must be rejected, on a GPU:
 * scratch keeps what the last call left, as it does for a user. An honest bug; met: rungs at 6881121. */
#include "kernel.h"
#include "variant.h"

enum { THREADS = 128 };
static constexpr double READY = 1;

static size_t scratch_bytes(const VariantArgs *args) {
    const size_t blocks = (array_count(&args->in[0]) + THREADS - 1) / THREADS;
    return blocks * (THREADS + 1) * sizeof(double);
}

static __global__ void __launch_bounds__(THREADS) double_kernel(const double *x, double *y, size_t n, double *kept, double *flags) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (flags[blockIdx.x] != READY && i < n) kept[i] = 2 * x[i];
    if (i < n) y[i] = kept[i];
    __syncthreads();
    if (threadIdx.x == 0) flags[blockIdx.x] = READY;
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
    double *scratch = (double *)args->scratch;
    return launch(double_kernel, {blocks, THREADS, 0, args->stream}, (const double *)args->in[0].data, (double *)args->out[0].data,
                  n, scratch, scratch + (size_t)blocks * THREADS);
}

RUNGS_VARIANT(double, cuda_ready_flags) = {.backend = BACKEND_CUDA,
                                           .summary = "mutant: flags in scratch are never cleared",
                                           .origin = "tests",
                                           .scratch_bytes = scratch_bytes,
                                           .run = run};
