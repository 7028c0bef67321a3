/* Mutant: reads far outside of its buffers. Must be rejected: a device error, in this row only. */
#include "kernel.h"
#include "variant.h"

static __global__ void illegal_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i + ((size_t)1 << 44)];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return launch(illegal_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, (const double *)args->in[0].data,
                  (double *)args->out[0].data, n);
}

RUNGS_VARIANT(double, cuda_illegal_address) = {
    .backend = BACKEND_CUDA, .summary = "mutant: illegal address", .origin = "tests", .run = run};
