/* Mutant: allocates, waits for the given stream and works on one of its own, which it waits for. Must be rejected: where a call
 * waits, holding the given stream shows nothing, but its kernels are counted by stream. Met: pygpubench. */
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    void *block = nullptr;
    TRY(args->memory->allocate(args->memory, 256, args->stream, &block));
    TRY_CUDA(cudaStreamSynchronize((cudaStream_t)args->stream));
    TRY(launch(double_kernel, {(unsigned)((n + 127) / 128), 128, 0, cudaStreamPerThread}, (const double *)args->in[0].data,
               (double *)args->out[0].data, n));
    TRY_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    args->memory->release(args->memory, block, args->stream);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cuda_waits_and_strays) = {
    .backend = BACKEND_CUDA, .summary = "mutant: waits, then another stream", .origin = "tests", .run = run};
