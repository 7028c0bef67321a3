/* Mutant: counts stages as the published code does, in float, which is right up to 2^21. Must be rejected at 2^21 + 1. */
#include "log_stages.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return log_stages(args, n > 1 ? (int)ceilf(log2f((float)n)) : 0, 0);
}

RUNGS_VARIANT(discounted_cumsum, cpu_float_stages) = {
    .backend = BACKEND_CPU, .summary = "mutant: counts stages in float", .origin = "tests", .run = run};
