/* Mutant: is right at the first call only. Must be rejected: the result after timing is checked too. */
#include "variant.h"

#include "base/poison.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    static int calls;
    calls++;
    for (size_t i = 0; i < n; i++) y[i] = (calls <= POISON_PATTERNS ? 2 : 3) * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_wrong_later) = {
    .backend = BACKEND_CPU, .summary = "mutant: is right at the first call only", .origin = "tests", .run = run};
