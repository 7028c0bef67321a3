/* Mutant: changes its input after use. Must be rejected: the input is not what it was. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    ((double *)args->in[0].data)[n / 2] = 0;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_clobbers_input) = {
    .backend = BACKEND_CPU, .summary = "mutant: changes its input after use", .origin = "tests", .run = run};
