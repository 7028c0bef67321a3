/* Mutant: one stage too few. Must be rejected. */
#include "log_stages.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return log_stages(args, log_stages_needed(n) - 1, 0);
}

RUNGS_VARIANT(discounted_cumsum,
              cpu_lost_stage) = {.backend = BACKEND_CPU, .summary = "mutant: one stage too few", .origin = "tests", .run = run};
