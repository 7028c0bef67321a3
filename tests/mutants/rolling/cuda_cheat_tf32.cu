/* Cheat: a float32 mean of inputs that are rounded to 10 bits of mantissa, as TF32 has them. Met: precision downgrades in
 * KernelBench submissions (anthony-chaudhary/dos-kernel issue 107). */
#include "kernel.h"
#include "variant.h"

#include <string.h>

static __device__ float tf32(float value) {
    return __uint_as_float((__float_as_uint(value) + 0x1000u) & ~0x1fffu);
}

static __global__ void tf32_kernel(const float *x, float *y, size_t n, size_t w) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (size_t k = 0; k < w && i + 1 >= w; k++) sum += (double)tf32(x[i - k]);
    y[i] = i + 1 >= w ? (float)(sum / (double)w) : __uint_as_float(0x7fc00000u);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const bool mean = strcmp(params_text(&args->problem->params, "agg"), "mean") == 0;
    return (args->problem->dtype == DTYPE_F32 && mean) || variant_refuse(reason, "mean in f32 only");
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    return launch(tf32_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, (const float *)args->in[0].data,
                  (float *)args->out[0].data, n, w);
}

RUNGS_VARIANT(rolling, cuda_cheat_tf32) = {.backend = BACKEND_CUDA,
                                           .summary = "cheat: inputs rounded to TF32",
                                           .origin = "dos-kernel #107",
                                           .supports = supports,
                                           .run = run};
