/* Mutant: the last row is left out. Must be rejected. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.last_row_lost = true});
}

RUNGS_VARIANT(moments,
              cpu_last_row) = {.backend = BACKEND_CPU, .summary = "mutant: last row left out", .origin = "tests", .run = run};
