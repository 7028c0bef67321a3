/* Mutant: a thread does the second half and is not waited for. Must be rejected, as cpu_detached_thread. Met: rungs at 6881121. */
#include "later_work.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    start_later((LaterWork){x, y, n / 2, n, 100 * 1000});
    for (size_t i = 0; i < n / 2; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_half_later) = {
    .backend = BACKEND_CPU, .summary = "mutant: a thread does the second half", .origin = "tests", .run = run};
