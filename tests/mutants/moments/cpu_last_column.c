/* Mutant: the last column gets what the one before has. Must be rejected. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.last_column_lost = true});
}

RUNGS_VARIANT(moments,
              cpu_last_column) = {.backend = BACKEND_CPU, .summary = "mutant: last column copied", .origin = "tests", .run = run};
