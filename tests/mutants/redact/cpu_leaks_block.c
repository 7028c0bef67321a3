/* Mutant: keeps a block for itself. Must be rejected: neither released nor handed over. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    void *lost = NULL;
    TRY(args->memory->allocate(args->memory, 100, args->stream, &lost));
    return redacted(args);
}

RUNGS_VARIANT(redact, cpu_leaks_block) = {.backend = BACKEND_CPU, .summary = "mutant: leaks block", .origin = "tests", .run = run};
