/* Mutant: reads the neighbour. Must be rejected: beyond the bound. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i + 1 < n ? i + 1 : i];
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_off_by_one) = {.backend = BACKEND_CPU, .summary = "mutant: reads the neighbour", .origin = "tests", .run = run};
