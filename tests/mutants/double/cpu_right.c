/* Not a mutant: is right. Must pass, so that the others fail for their own reasons. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_right) = {.backend = BACKEND_CPU, .summary = "mutant: is right", .origin = "tests", .run = run};
