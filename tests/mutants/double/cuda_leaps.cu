/* Mutant: writes one element 64 KiB past the end, as a grid stride too many would. Must be rejected: the upper guard changed (on a
 * GPU), out of bounds (in the emulator). */
#include "kernel.h"
#include "variant.h"

static __global__ void leaping_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
    if (i == 0) y[n + (64 << 10) / sizeof *y] = 1;
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return launch(leaping_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, (const double *)args->in[0].data,
                  (double *)args->out[0].data, n);
}

RUNGS_VARIANT(double, cuda_leaps) = {
    .backend = BACKEND_CUDA, .summary = "mutant: writes 64 KiB past the end", .origin = "tests", .run = run};
