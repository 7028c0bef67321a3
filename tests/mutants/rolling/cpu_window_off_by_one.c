/* Mutant: windows are one element too long. Must be rejected. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.longer = 1});
}

RUNGS_VARIANT(rolling, cpu_window_off_by_one) = {
    .backend = BACKEND_CPU, .summary = "mutant: windows one too long", .origin = "tests", .supports = spoilt_supports, .run = run};
