/* Mutant: all outputs are NaN. Must be rejected: incomparable, although no comparison with NaN is ever true. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)x;
    for (size_t i = 0; i < n; i++) y[i] = __builtin_nan("");
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_nan) = {.backend = BACKEND_CPU, .summary = "mutant: all outputs are NaN", .origin = "tests", .run = run};
