/* Mutant: once it has been verified a kernel writes only garbage to y[0]. Must be rejected: timed calls are compared, on a GPU; the
 * emulator makes one call. Met: rungs at 6881121. */
#include "base/poison.h"
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    static int calls; /* one more is made while the stream is held */
    const size_t n = calls++ <= POISON_PATTERNS ? array_count(&args->in[0]) : 1;
    return launch(double_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, (const double *)args->in[0].data,
                  (double *)args->out[0].data, n);
}

RUNGS_VARIANT(double, cuda_garbage_later) = {
    .backend = BACKEND_CUDA, .summary = "mutant: garbage from the second call on", .origin = "tests", .run = run};
