/* Mutant: returns at once if the pointer and 64 inputs are those of the call before, and the first output is no poison. Must be
 * rejected: no call of a sample finds the inputs of the one before it. */
#include "variant.h"

#include "poisoned.h"

#include <string.h>

enum { LOOKED_AT = 64 };

static Status run(const VariantArgs *args) {
    static double seen[LOOKED_AT];
    static const double *last;
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data, now[LOOKED_AT];
    for (size_t i = 0; i < LOOKED_AT; i++) now[i] = x[i * n / LOOKED_AT];
    if (x == last && memcmp(seen, now, sizeof seen) == 0 && !is_poisoned(&y[0])) return STATUS_OK;
    memcpy(seen, now, sizeof seen);
    last = x;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_skips_alike) = {
    .backend = BACKEND_CPU, .summary = "mutant: skips where pointer and 64 inputs repeat", .origin = "tests", .run = run};
