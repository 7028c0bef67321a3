/* Cheat: a float32 mean of inputs that are rounded to 10 bits of mantissa, as TF32 has them. Met: precision downgrades in
 * KernelBench submissions (anthony-chaudhary/dos-kernel issue 107). */
#include "variant.h"

#include <stdint.h>
#include <string.h>

static float tf32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000) & ~UINT32_C(0x1fff);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const bool mean = strcmp(params_text(&args->problem->params, "agg"), "mean") == 0;
    return (args->problem->dtype == DTYPE_F32 && mean) || variant_refuse(reason, "mean in f32 only");
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    const float *x = args->in[0].data;
    float *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < w && i + 1 >= w; k++) sum += (double)tf32(x[i - k]);
        y[i] = i + 1 >= w ? (float)(sum / (double)w) : __builtin_nanf("");
    }
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_cheat_tf32) = {.backend = BACKEND_CPU,
                                          .summary = "cheat: inputs rounded to TF32",
                                          .origin = "dos-kernel #107",
                                          .supports = supports,
                                          .run = run};
