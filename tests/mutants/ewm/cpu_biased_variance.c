/* Mutant: the variance without its correction. Must be rejected, but for means. */
#include "spoilt_ewm.h"

static Status run(const VariantArgs *args) {
    return spoilt_ewm(args, (Spoilt){.biased = true});
}

RUNGS_VARIANT(ewm,
              cpu_biased_variance) = {.backend = BACKEND_CPU, .summary = "mutant: biased variance", .origin = "tests", .run = run};
