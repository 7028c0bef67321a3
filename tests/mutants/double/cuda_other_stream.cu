/* Mutant: works on a stream of its own. Must be rejected: outputs change while the stream it was given stands still. */
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return launch(double_kernel, {(unsigned)((n + 127) / 128), 128, 0, cudaStreamPerThread}, (const double *)args->in[0].data,
                  (double *)args->out[0].data, n);
}

RUNGS_VARIANT(double,
              cuda_other_stream) = {.backend = BACKEND_CUDA, .summary = "mutant: another stream", .origin = "tests", .run = run};
