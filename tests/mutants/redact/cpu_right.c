/* Not a mutant: what these are made from. Must pass. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    return redacted(args);
}

RUNGS_VARIANT(redact, cpu_right) = {.backend = BACKEND_CPU, .summary = "no mutant: sequential", .origin = "tests", .run = run};
