/* Mutant: an output before the window is full. Must be rejected. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.early = true});
}

RUNGS_VARIANT(rolling, cpu_early) = {
    .backend = BACKEND_CPU, .summary = "mutant: an output too early", .origin = "tests", .supports = spoilt_supports, .run = run};
