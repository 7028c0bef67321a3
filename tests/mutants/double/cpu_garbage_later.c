/* Mutant: once it has been verified writes only garbage to y[0]. Must be rejected: timed calls are compared. Met: rungs at 6881121.
 */
#include "variant.h"

#include "base/poison.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    static int calls;
    y[0] = 12345;
    for (size_t i = 0; calls < POISON_PATTERNS && i < n; i++) y[i] = 2 * x[i];
    calls++;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_garbage_later) = {
    .backend = BACKEND_CPU, .summary = "mutant: writes one wrong element from the second call on", .origin = "tests", .run = run};
