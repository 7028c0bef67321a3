/* Mutant: hands over empty outputs from its third call on. Must be rejected: timed calls are compared. Met: rungs at 6881121. */
#include "redacted.h"

static Status run(const VariantArgs *args) {
    static int calls;
    if (calls++ < 2) return redacted(args);
    for (int i = 0; i < args->out_count; i++) {
        args->out[i].data = NULL;
        args->out[i].shape[0] = 0;
    }
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_empty_later) = {
    .backend = BACKEND_CPU, .summary = "mutant: empty from the third call on", .origin = "tests", .run = run};
