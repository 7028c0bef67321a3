/* Mutant: keeps a block of memory at every call. Must be rejected: memory in use grows. */
#include "variant.h"

#include <stdlib.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    char *volatile lost = malloc(4096);
    lost[0] = 1;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_leaks) = {
    .backend = BACKEND_CPU, .summary = "mutant: keeps a block of memory at every call", .origin = "tests", .run = run};
