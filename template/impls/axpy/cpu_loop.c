/* Idea: one loop, one thread. Traffic: reads x and y once, writes z once. Rounding: product and sum, or one if the compiler
 * contracts them. Limits: none. Origin: the definition. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->out[0]);
    const double a = params_real(&args->problem->params, "a");
    if (args->problem->dtype == DTYPE_F64) {
        const double *x = args->in[0].data, *y = args->in[1].data;
        double *z = args->out[0].data;
        for (size_t i = 0; i < n; i++) z[i] = a * x[i] + y[i];
    } else {
        const float *x = args->in[0].data, *y = args->in[1].data;
        float *z = args->out[0].data;
        for (size_t i = 0; i < n; i++) z[i] = (float)a * x[i] + y[i];
    }
    return STATUS_OK;
}

RUNGS_VARIANT(axpy, cpu_loop) = {.backend = BACKEND_CPU, .summary = "one loop, one thread", .origin = "the definition", .run = run};
