/* Mutant: in one call of 300, at random, one mean is wrong. */
#include "now_and_then.h"

static Status run(const VariantArgs *args) {
    double *at = NULL;
    TRY(now_and_then_run(args, &at));
    if (at) *at *= 1.001;
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_wrong_now_and_then) = {.backend = BACKEND_CPU,
                                                  .summary = "mutant: is wrong in one of 300 calls",
                                                  .origin = "tests",
                                                  .supports = windows_supports,
                                                  .run = run};
