/* Not a mutant: what these are made from. Must pass. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){0});
}

RUNGS_VARIANT(moments,
              cpu_right) = {.backend = BACKEND_CPU, .summary = "no mutant: two passes in double", .origin = "tests", .run = run};
