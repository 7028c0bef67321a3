/* Mutant: leaves out what does not fill a block of 64. Must be rejected: the tail is unwritten. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n / 64 * 64; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_drops_tail) = {
    .backend = BACKEND_CPU, .summary = "mutant: leaves out what does not fill a block of 64", .origin = "tests", .run = run};
