/* Mutant: computes once and hands out the old result ever after. Must be rejected: wrong on new data. */
#include "variant.h"

#include <stdlib.h>

static double *kept;

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    if (!kept) {
        kept = malloc(n * sizeof *kept);
        for (size_t i = 0; i < n; i++) kept[i] = 2 * x[i];
    }
    for (size_t i = 0; i < n; i++) y[i] = kept[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_stale) = {.backend = BACKEND_CPU,
                                    .summary = "mutant: computes once and hands out the old result ever after",
                                    .origin = "tests",
                                    .run = run};
