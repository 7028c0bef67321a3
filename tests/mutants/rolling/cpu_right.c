/* Not a mutant: every window from scratch, compensated. Must pass. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.longer = 0});
}

RUNGS_VARIANT(rolling, cpu_right) = {.backend = BACKEND_CPU,
                                     .summary = "no mutant: windows from scratch",
                                     .origin = "tests",
                                     .supports = spoilt_supports,
                                     .run = run};
