/* Mutant: sums are floats. Must be rejected in float64. */
#include "spoilt_rolling.h"

static Status run(const VariantArgs *args) {
    return spoilt_rolling(args, (Spoilt){.single = true});
}

RUNGS_VARIANT(rolling, cpu_float_sums) = {
    .backend = BACKEND_CPU, .summary = "mutant: float sums", .origin = "tests", .supports = spoilt_supports, .run = run};
