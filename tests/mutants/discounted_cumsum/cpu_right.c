/* Not a mutant: the stages that these are made from. Must pass. */
#include "log_stages.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    return log_stages(args, log_stages_needed(n), 0);
}

RUNGS_VARIANT(discounted_cumsum,
              cpu_right) = {.backend = BACKEND_CPU, .summary = "no mutant: all stages", .origin = "tests", .run = run};
