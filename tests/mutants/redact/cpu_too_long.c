/* Mutant: says more than its block holds. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].shape[0]++;
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_too_long) = {.backend = BACKEND_CPU, .summary = "mutant: too long", .origin = "tests", .run = run};
