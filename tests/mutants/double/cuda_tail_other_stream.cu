/* Mutant: the last elements are made on another stream, which nobody waits for. Must be rejected: the whole output is watched while
 * the given stream is held. Met: rungs at 6881121, which watched the first MiB of one output. */
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t begin, size_t end) {
    const size_t i = begin + (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < end) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), most = n - n / 16;
    const double *x = (const double *)args->in[0].data;
    double *y = (double *)args->out[0].data;
    TRY(launch(double_kernel, {(unsigned)((most + 127) / 128), 128, 0, args->stream}, x, y, (size_t)0, most));
    return launch(double_kernel, {(unsigned)((n - most + 127) / 128), 128, 0, cudaStreamPerThread}, x, y, most, n);
}

RUNGS_VARIANT(double, cuda_tail_other_stream) = {
    .backend = BACKEND_CUDA, .summary = "mutant: another stream for the tail", .origin = "tests", .run = run};
