/* Mutant: variances are divided by w. Must be rejected, but for means. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.biased = true});
}

RUNGS_VARIANT(rolling, cpu_biased_variance) = {
    .backend = BACKEND_CPU, .summary = "mutant: biased variance", .origin = "tests", .supports = spoilt_supports, .run = run};
