/* Mutant: E[x^2] - E[x]^2. Must be rejected where the mean is far from 0. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.raw_squares = true});
}

RUNGS_VARIANT(moments, cpu_raw_squares) = {
    .backend = BACKEND_CPU, .summary = "mutant: var = E[x^2] - E[x]^2", .origin = "tests", .run = run};
