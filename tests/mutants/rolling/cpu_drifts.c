/* Mutant: one running sum over the array. Must be rejected where large numbers cancel, or where a huge one or a NaN has left. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.running = true});
}

RUNGS_VARIANT(rolling, cpu_drifts) = {
    .backend = BACKEND_CPU, .summary = "mutant: a running sum", .origin = "tests", .supports = spoilt_supports, .run = run};
