/* Mutant: writes one element before the beginning. Must be rejected: the lower guard changed. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    double *volatile before = y - 1;
    *before = 1;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_underruns) = {
    .backend = BACKEND_CPU, .summary = "mutant: writes one element before the beginning", .origin = "tests", .run = run};
