/* Not a mutant: finds out from the data that it cannot do it. Must be skipped with its reason. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    (void)args;
    return status_fail(STATUS_UNSUPPORTED, "row 17 would become longer than it was");
}

RUNGS_VARIANT(redact, cpu_cannot) = {
    .backend = BACKEND_CPU, .summary = "no mutant: refuses what the data holds", .origin = "tests", .run = run};
