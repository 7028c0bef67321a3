/* Mutant: a thread works on after run() has returned, on outputs that are complete. Must be rejected: whoever calls next pays for
 * it. Met: pygpubench. */
#include "later_work.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    start_later((LaterWork){x, y, 0, n, 10 * 1000 * 1000});
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_again_later) = {
    .backend = BACKEND_CPU, .summary = "mutant: a thread goes on when the outputs are there", .origin = "tests", .run = run};
