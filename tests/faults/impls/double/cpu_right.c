/* Not hostile: the row after each hostile one, which must be as it would be alone. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < array_count(&args->in[0]); i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_right) = {.backend = BACKEND_CPU, .summary = "the row after a hostile one", .origin = "tests", .run = run};
