/* Mutant: computes in float32. Must be rejected: beyond the bound of 0. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = (double)(2 * (float)x[i]);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_wrong_rounding) = {
    .backend = BACKEND_CPU, .summary = "mutant: computes in float32", .origin = "tests", .run = run};
