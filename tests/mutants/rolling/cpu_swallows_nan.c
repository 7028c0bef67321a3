/* Mutant: a NaN counts as 0. Must be rejected where there is one. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.swallows_nan = true});
}

RUNGS_VARIANT(rolling, cpu_swallows_nan) = {
    .backend = BACKEND_CPU, .summary = "mutant: NaN counts as 0", .origin = "tests", .supports = spoilt_supports, .run = run};
