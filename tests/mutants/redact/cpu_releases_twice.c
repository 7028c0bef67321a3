/* Mutant: releases a block twice. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    void *block = NULL;
    TRY(args->memory->allocate(args->memory, 1000, args->stream, &block));
    args->memory->release(args->memory, block, args->stream);
    args->memory->release(args->memory, block, args->stream);
    return redacted(args);
}

RUNGS_VARIANT(redact,
              cpu_releases_twice) = {.backend = BACKEND_CPU, .summary = "mutant: releases twice", .origin = "tests", .run = run};
