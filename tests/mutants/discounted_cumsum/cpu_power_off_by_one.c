/* Mutant: every power is too high by one. Must be rejected. */
#include "log_stages.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return log_stages(args, log_stages_needed(n), 1);
}

RUNGS_VARIANT(discounted_cumsum, cpu_power_off_by_one) = {
    .backend = BACKEND_CPU, .summary = "mutant: powers too high by one", .origin = "tests", .run = run};
