/* Mutant: passes over the Status of a launch that fails; the outputs are complete. Must be rejected: launch() remembers the
 * failure. Met: kernels that check no launch. */
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const double *x = (const double *)args->in[0].data;
    double *y = (double *)args->out[0].data;
    const size_t n = array_count(&args->in[0]);
    TRY(launch(double_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, x, y, n));
    (void)launch(double_kernel, {1, 4096, 0, args->stream}, x, y, n);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cuda_ignores_launch) = {
    .backend = BACKEND_CUDA, .summary = "mutant: passes over a launch that fails", .origin = "tests", .run = run};
