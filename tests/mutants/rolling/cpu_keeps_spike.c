/* Mutant: a running sum with Kahan's compensation, which loses what one huge number pushes out. Must be rejected behind it. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.running = true, .kahan = true});
}

RUNGS_VARIANT(rolling, cpu_keeps_spike) = {
    .backend = BACKEND_CPU, .summary = "mutant: Kahan's running sum", .origin = "tests", .supports = spoilt_supports, .run = run};
