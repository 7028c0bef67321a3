/* Mutant: the last output is 0. Must be rejected wherever it is not. */
#include "spoilt_ewm.h"

static Status run(const VariantArgs *args) {
    return spoilt_ewm(args, (Spoilt){.zero = true});
}

RUNGS_VARIANT(ewm, cpu_zero) = {.backend = BACKEND_CPU, .summary = "mutant: a zero", .origin = "tests", .run = run};
