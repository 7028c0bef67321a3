/* Mutant: weights do not decay over a NaN. Must be rejected where there are NaN. */
#include "spoilt_ewm.h"

static Status run(const VariantArgs *args) {
    return spoilt_ewm(args, (Spoilt){.still_time = true});
}

RUNGS_VARIANT(ewm,
              cpu_forgets_gaps) = {.backend = BACKEND_CPU, .summary = "mutant: no decay over a NaN", .origin = "tests", .run = run};
