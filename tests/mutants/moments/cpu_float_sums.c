/* Mutant: sums in float, of doubles too. Must be rejected in f64. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.float_sums = true});
}

RUNGS_VARIANT(moments,
              cpu_float_sums) = {.backend = BACKEND_CPU, .summary = "mutant: sums in float", .origin = "tests", .run = run};
