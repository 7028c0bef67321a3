/* Mutant: writes nothing. Must be rejected: every element is unwritten. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)n, (void)x, (void)y;
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_does_nothing) = {.backend = BACKEND_CPU, .summary = "mutant: writes nothing", .origin = "tests", .run = run};
