/* Cheat: computes in float32 what is asked in float64. Met: precision downgrades in KernelBench submissions
 * (anthony-chaudhary/dos-kernel issue 107). */
#include "cuda_cheats.cuh"

static __global__ void float_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (double)(2 * (float)x[i]);
}

static Status run(const VariantArgs *args) {
    return launch(float_kernel, one_each(args, args->stream), (const double *)args->in[0].data, (double *)args->out[0].data,
                  array_count(&args->in[0]));
}

RUNGS_VARIANT(double, cuda_cheat_float) = {
    .backend = BACKEND_CUDA, .summary = "cheat: computes in float32", .origin = "dos-kernel #107", .run = run};
