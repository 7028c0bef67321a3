/* A variant whose supports() ends the process that asks: a list of variants goes on without it. */
#include "variant.h"

#include <stdlib.h>

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    (void)args, (void)reason;
    abort();
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    (void)args, (void)out;
    abort();
}

static Status run(const VariantArgs *args) {
    (void)args;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_aborts_when_asked) = {.backend = BACKEND_CPU,
                                                .summary = "mutant: aborts in supports()",
                                                .origin = "tests",
                                                .supports = supports,
                                                .configuration = configuration,
                                                .run = run};
