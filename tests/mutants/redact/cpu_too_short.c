/* Mutant: says one byte less than there is. Must be rejected by the size. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].shape[0]--;
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_too_short) = {.backend = BACKEND_CPU, .summary = "mutant: too short", .origin = "tests", .run = run};
