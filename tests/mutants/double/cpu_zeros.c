/* Mutant: all outputs are zero. Must be rejected: beyond the bound. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)x;
    for (size_t i = 0; i < n; i++) y[i] = 0;
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_zeros) = {.backend = BACKEND_CPU, .summary = "mutant: all outputs are zero", .origin = "tests", .run = run};
