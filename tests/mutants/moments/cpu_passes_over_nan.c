/* Mutant: fmin and fmax pass over a NaN. Must be rejected where there is one. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.nan_passed_over = true});
}

RUNGS_VARIANT(moments, cpu_passes_over_nan) = {
    .backend = BACKEND_CPU, .summary = "mutant: extremes pass over NaN", .origin = "tests", .run = run};
