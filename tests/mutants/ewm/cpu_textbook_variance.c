/* Mutant: E[x^2] - E[x]^2 without declaring it. Must be rejected where the mean is large. */
#include "spoilt_ewm.h"

static Status run(const VariantArgs *args) {
    return spoilt_ewm(args, (Spoilt){.textbook = true});
}

RUNGS_VARIANT(ewm, cpu_textbook_variance) = {
    .backend = BACKEND_CPU, .summary = "mutant: textbook variance", .origin = "tests", .run = run};
