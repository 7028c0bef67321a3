/* Mutant: writes one byte past the end of its chars. Must be rejected: the upper guard changed. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    ((unsigned char *)args->out[CHARS].data)[args->out[CHARS].shape[0]] = 0;
    return STATUS_OK;
}

RUNGS_VARIANT(redact,
              cpu_overruns_block) = {.backend = BACKEND_CPU, .summary = "mutant: overruns block", .origin = "tests", .run = run};
