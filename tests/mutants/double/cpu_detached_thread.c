/* Mutant: a detached thread does the work after run() has returned. Must be rejected: outputs are taken at once. Met: rungs at
 * 6881121. */
#include "later_work.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    start_later((LaterWork){x, y, 0, n, 3 * 1000 * 1000});
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_detached_thread) = {
    .backend = BACKEND_CPU, .summary = "mutant: a detached thread does the work later", .origin = "tests", .run = run};
