/* Mutant: the last output is 0. Must be rejected wherever it is not. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.zero = true});
}

RUNGS_VARIANT(rolling, cpu_zero) = {
    .backend = BACKEND_CPU, .summary = "mutant: a zero", .origin = "tests", .supports = spoilt_supports, .run = run};
