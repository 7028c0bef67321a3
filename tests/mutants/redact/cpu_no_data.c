/* Mutant: forgets an output. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->memory->release(args->memory, args->out[CHARS].data, args->stream);
    args->out[CHARS].data = NULL;
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_no_data) = {.backend = BACKEND_CPU, .summary = "mutant: no data", .origin = "tests", .run = run};
