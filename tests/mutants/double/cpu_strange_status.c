/* Mutant: run() returns a number that is no Status, without a message. Must end as an error that names it. */
#include "variant.h"

static Status run(const VariantArgs *args) {
    (void)args;
    return (Status)77;
}

RUNGS_VARIANT(double,
              cpu_strange_status) = {.backend = BACKEND_CPU, .summary = "mutant: returns no Status", .origin = "tests", .run = run};
