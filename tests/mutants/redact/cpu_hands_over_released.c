/* Mutant: releases what it hands over. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->memory->release(args->memory, args->out[CHARS].data, args->stream);
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_hands_over_released) = {
    .backend = BACKEND_CPU, .summary = "mutant: hands over released", .origin = "tests", .run = run};
