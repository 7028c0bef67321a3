/* Mutant: a launch fails and run() says nothing; the outputs are complete. Must be rejected: the runtime remembers the error. Met:
 * kernels that check no launch; the emulator knows launch() only. */
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const double *x = (const double *)args->in[0].data;
    double *y = (double *)args->out[0].data;
    size_t n = array_count(&args->in[0]);
    TRY(launch(double_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, x, y, n));
#ifndef RUNGS_EMULATED
    void *arguments[] = {&x, &y, &n};
    const dim3 too_many(4096, 1, 1);
    (void)cudaLaunchKernel(reinterpret_cast<const void *>(double_kernel), dim3(1, 1, 1), too_many, arguments, 0,
                           static_cast<cudaStream_t>(args->stream));
#endif
    return STATUS_OK;
}

RUNGS_VARIANT(double, cuda_swallowed_launch) = {
    .backend = BACKEND_CUDA, .summary = "mutant: a launch that fails unnoticed", .origin = "tests", .run = run};
