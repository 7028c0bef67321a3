/* Mutant: writes one element past the end. Must be rejected: the upper guard changed. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i <= n; i++) y[i] = 2 * x[i < n ? i : n - 1];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_overruns) = {
    .backend = BACKEND_CPU, .summary = "mutant: writes one element past the end", .origin = "tests", .run = run};
