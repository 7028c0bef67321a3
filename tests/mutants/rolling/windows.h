/* windows.h - what the controls of rolling share: means of f64, window by window. */
#pragma once

#include "variant.h"

#include <math.h>
#include <string.h>

static inline bool windows_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Params *params = &args->problem->params;
    const bool mean = strcmp(params_text(params, "agg"), "mean") == 0, nan = strcmp(params_text(params, "incomplete"), "nan") == 0;
    return (mean && nan && args->problem->dtype == DTYPE_F64) || variant_refuse(reason, "means of f64 only");
}

/* From the last window to the first. mean(x, w): of one window. */
static inline Status windows_run(const VariantArgs *args, double (*mean)(const double *x, size_t w)) {
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    const double *x = (const double *)args->in[0].data;
    double *y = (double *)args->out[0].data;
    for (size_t i = n; i-- > 0;) y[i] = i + 1 < w ? (double)NAN : mean(x + i + 1 - w, w);
    return STATUS_OK;
}
