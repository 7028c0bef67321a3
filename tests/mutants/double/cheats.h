/* What the cheats of `double` share. The honest computation, and a search of what a process can see of the harness. */
#pragma once

#include "variant.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline Status compute(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

/* Do these bytes begin with the result for this input? */
static inline bool is_result(const double *found, const VariantArgs *args) {
    const double *x = args->in[0].data;
    for (size_t i = 0; i < 16 && i < array_count(&args->in[0]); i++)
        if (!(found[i] == 2 * x[i])) return false;
    return true;
}
