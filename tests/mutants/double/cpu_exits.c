/* Mutant: ends the process in the middle. Must be rejected: the worker ended. */
#include "variant.h"

#include <stdlib.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)n, (void)x, (void)y;
    exit(3);
}

RUNGS_VARIANT(double, cpu_exits) = {
    .backend = BACKEND_CPU, .summary = "mutant: ends the process in the middle", .origin = "tests", .run = run};
