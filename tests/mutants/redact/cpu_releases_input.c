/* Mutant: releases what the harness owns. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->memory->release(args->memory, args->in[1].data, args->stream);
    return STATUS_OK;
}

RUNGS_VARIANT(redact,
              cpu_releases_input) = {.backend = BACKEND_CPU, .summary = "mutant: releases input", .origin = "tests", .run = run};
