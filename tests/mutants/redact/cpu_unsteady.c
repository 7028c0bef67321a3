/* Mutant: every second call is wrong. Must be rejected: two runs on the same inputs differ. */
#include "redacted.h"

static int calls;

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    if (calls++ % 2 == 1) ((unsigned char *)args->out[CHARS].data)[0] ^= 1;
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_unsteady) = {.backend = BACKEND_CPU, .summary = "mutant: unsteady", .origin = "tests", .run = run};
