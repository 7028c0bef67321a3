/* Mutant: writes one element 1 MiB past the end, far beyond the guard's words. Must be rejected: the pages there are inaccessible.
 */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    double *volatile beyond = y + n + ((size_t)1 << 20) / sizeof *y;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    *beyond = 1;
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_leaps) = {.backend = BACKEND_CPU, .summary = "mutant: writes 1 MiB past the end", .origin = "tests", .run = run};
