/* Mutant: a valid row becomes null. Must be rejected by the validity. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    TRY(redacted(args));
    unsigned char *validity = args->out[VALIDITY].data;
    for (size_t i = 0; i < args->out[VALIDITY].shape[0]; i++) {
        if (validity[i] == 0) continue;
        validity[i] &= (unsigned char)(validity[i] - 1);
        break;
    }
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_wrong_null) = {.backend = BACKEND_CPU, .summary = "mutant: wrong null", .origin = "tests", .run = run};
