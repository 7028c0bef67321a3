/* Mutant: the first call of a batch works, those that follow on the same input return. Must be rejected: a variant is
 * verified more than once on one input, and every cold sample finds poison. Met: KernelBench. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    static double seen = 0;
    if (x[n / 3] == seen) return STATUS_OK;
    seen = x[n / 3];
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_batch_and_skip) = {
    .backend = BACKEND_CPU, .summary = "mutant: works in the first call of a batch only", .origin = "tests", .run = run};
