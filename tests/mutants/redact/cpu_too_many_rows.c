/* Mutant: says more than the op allows. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[OFFSETS].shape[0]++;
    return STATUS_OK;
}

RUNGS_VARIANT(redact,
              cpu_too_many_rows) = {.backend = BACKEND_CPU, .summary = "mutant: too many rows", .origin = "tests", .run = run};
