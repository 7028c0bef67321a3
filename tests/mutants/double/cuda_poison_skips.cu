/* Mutant: a kernel that returns at once unless the last output is poison. Must be rejected, on a GPU: in hot samples the inputs
 * change as well. Met: rungs at 6881121. */
#include "kernel.h"
#include "poisoned.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && is_poisoned(&y[i])) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return launch(double_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, (const double *)args->in[0].data,
                  (double *)args->out[0].data, n);
}

RUNGS_VARIANT(double, cuda_poison_skips) = {
    .backend = BACKEND_CUDA, .summary = "mutant: works only where it finds poison", .origin = "tests", .run = run};
