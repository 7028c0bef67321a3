/* Mutant: kurtosis less that of a normal distribution. Must be rejected. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.excess_kurtosis = true});
}

RUNGS_VARIANT(moments,
              cpu_excess_kurtosis) = {.backend = BACKEND_CPU, .summary = "mutant: excess kurtosis", .origin = "tests", .run = run};
