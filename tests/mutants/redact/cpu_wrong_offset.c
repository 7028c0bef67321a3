/* Mutant: one row ends a byte late. Must be rejected, though every letter is right. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    ((int32_t *)args->out[OFFSETS].data)[args->out[OFFSETS].shape[0] / 2]++;
    return STATUS_OK;
}

RUNGS_VARIANT(redact,
              cpu_wrong_offset) = {.backend = BACKEND_CPU, .summary = "mutant: wrong offset", .origin = "tests", .run = run};
