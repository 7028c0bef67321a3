/* Mutant: does not write its last bytes, which its memory may hold from the call before. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    Array *chars = &args->out[CHARS];
    void *copy = NULL;
    TRY(args->memory->allocate(args->memory, chars->shape[0], args->stream, &copy));
    memcpy(copy, chars->data, chars->shape[0] - 3);
    args->memory->release(args->memory, chars->data, args->stream);
    chars->data = copy;
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_unwritten) = {.backend = BACKEND_CPU, .summary = "mutant: unwritten", .origin = "tests", .run = run};
