/* Mutant: a kernel without end. Must be rejected: timed out, and the next row finds a working device. */
#include "kernel.h"
#include "variant.h"

static __global__ void endless_kernel(volatile double *y) {
    while (y[0] != 0.125) y[1] = 1; /* poison is never 0.125 */
}

static Status run(const VariantArgs *args) {
    return launch(endless_kernel, {1, 1, 0, args->stream}, (volatile double *)args->out[0].data);
}

RUNGS_VARIANT(double, cuda_hangs) = {.backend = BACKEND_CUDA, .summary = "mutant: endless kernel", .origin = "tests", .run = run};
