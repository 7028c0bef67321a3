/* Mutant: writes one byte past the end of a block that it releases. Must be rejected all the same. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    void *block = NULL;
    TRY(args->memory->allocate(args->memory, 1000, args->stream, &block));
    ((unsigned char *)block)[1000] = 0;
    args->memory->release(args->memory, block, args->stream);
    return redacted(args);
}

RUNGS_VARIANT(redact, cpu_overruns_scratch) = {
    .backend = BACKEND_CPU, .summary = "mutant: overruns scratch", .origin = "tests", .run = run};
