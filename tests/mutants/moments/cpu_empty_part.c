/* Mutant: a part without rows is merged as if it held a 0, which only extremes tell. Must be rejected. */
#include "two_pass.h"

static Status run(const VariantArgs *args) {
    return two_pass(args, (Mistakes){.empty_part = true});
}

RUNGS_VARIANT(moments, cpu_empty_part) = {
    .backend = BACKEND_CPU, .summary = "mutant: an empty part counts as 0", .origin = "tests", .run = run};
