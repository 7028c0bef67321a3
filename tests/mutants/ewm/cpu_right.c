/* Not a mutant: the recurrence that these are made from. Must pass. */
#include "spoilt_ewm.h"

static Status run(const VariantArgs *args) {
    return spoilt_ewm(args, (Spoilt){0});
}

RUNGS_VARIANT(ewm, cpu_right) = {.backend = BACKEND_CPU, .summary = "no mutant: the recurrence", .origin = "tests", .run = run};
