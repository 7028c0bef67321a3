/* Idea: one pass, one thread.
 * Traffic: reads and writes every element once. Rounding: exact. Limits: none.
 * Origin: the definition. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    if (args->problem->dtype == DTYPE_F64) {
        const double *x = args->in[0].data;
        double *y = args->out[0].data;
        for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    } else {
        const float *x = args->in[0].data;
        float *y = args->out[0].data;
        for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    }
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_loop) = {
    .backend = BACKEND_CPU,
    .summary = "one loop, one thread",
    .origin = "the definition",
    .run = run,
};
