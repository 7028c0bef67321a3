/* Mutant: the variance over n - 1. Must be rejected. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.ddof_one = true});
}

RUNGS_VARIANT(moments, cpu_ddof_one) = {.backend = BACKEND_CPU, .summary = "mutant: var over n - 1", .origin = "tests", .run = run};
