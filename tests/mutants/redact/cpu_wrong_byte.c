/* Mutant: one letter is another. Must be rejected, with the row quoted. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    ((unsigned char *)args->out[CHARS].data)[args->out[CHARS].shape[0] / 2] ^= 1;
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_wrong_byte) = {.backend = BACKEND_CPU, .summary = "mutant: wrong byte", .origin = "tests", .run = run};
