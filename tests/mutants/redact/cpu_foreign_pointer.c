/* Mutant: hands over its input. Must be rejected: no block of its own. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].data = args->in[1].data;
    return STATUS_OK;
}

RUNGS_VARIANT(redact,
              cpu_foreign_pointer) = {.backend = BACKEND_CPU, .summary = "mutant: foreign pointer", .origin = "tests", .run = run};
