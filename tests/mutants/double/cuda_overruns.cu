/* Mutant: no bounds check in the last block. Must be rejected: the upper guard changed (on a GPU), out of bounds (in the emulator).
 */
#include "kernel.h"
#include "variant.h"

static __global__ void unguarded_kernel(const double *x, double *y) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return launch(unguarded_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, (const double *)args->in[0].data,
                  (double *)args->out[0].data);
}

RUNGS_VARIANT(double,
              cuda_overruns) = {.backend = BACKEND_CUDA, .summary = "mutant: no bounds check", .origin = "tests", .run = run};
