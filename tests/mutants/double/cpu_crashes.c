/* Mutant: reads through a null pointer. Must be rejected: the worker dies of a signal. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)x;
    const double *volatile nowhere = NULL;
    for (size_t i = 0; i < n; i++) y[i] = nowhere[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_crashes) = {
    .backend = BACKEND_CPU, .summary = "mutant: reads through a null pointer", .origin = "tests", .run = run};
