/* Mutant: leaks memory that is not of args->memory. Must be rejected: memory in use grows with every call. */
#include "redacted.h"

#include <stdlib.h>

static void *volatile lost;

static Status run(const VariantArgs *args) {
    lost = malloc(4096);
    return lost ? redacted(args) : STATUS_MEMORY;
}

RUNGS_VARIANT(redact,
              cpu_leaks_elsewhere) = {.backend = BACKEND_CPU, .summary = "mutant: leaks elsewhere", .origin = "tests", .run = run};
