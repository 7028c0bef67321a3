/* Mutant: returns at once unless the last output is poison. Must be rejected: in hot samples the inputs change as well. Met: rungs
 * at 6881121. */
#include "variant.h"

#include "poisoned.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const bool fresh = is_poisoned(&y[n - 1]);
    for (size_t i = 0; fresh && i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_poison_skips) = {
    .backend = BACKEND_CPU, .summary = "mutant: works only where the last output is poison", .origin = "tests", .run = run};
