/* Mutant: E[x^2] - E[x]^2 without declaring it. Must be rejected where the mean is large. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.textbook = true});
}

RUNGS_VARIANT(rolling, cpu_textbook_variance) = {
    .backend = BACKEND_CPU, .summary = "mutant: textbook variance", .origin = "tests", .supports = spoilt_supports, .run = run};
