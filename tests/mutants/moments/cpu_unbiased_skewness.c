/* Mutant: the adjusted skewness of samples. Must be rejected. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.unbiased_skewness = true});
}

RUNGS_VARIANT(moments, cpu_unbiased_skewness) = {
    .backend = BACKEND_CPU, .summary = "mutant: unbiased skewness", .origin = "tests", .run = run};
