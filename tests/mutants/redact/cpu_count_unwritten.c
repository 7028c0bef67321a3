/* Mutant: promises a number of bytes on the device and writes none. Must be rejected. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].shape[0] = COUNT_ON_DEVICE;
    return STATUS_OK;
}

RUNGS_VARIANT(redact,
              cpu_count_unwritten) = {.backend = BACKEND_CPU, .summary = "mutant: count unwritten", .origin = "tests", .run = run};
