/* Mutant: in one call of 300, at random, one mean is the number next to that of the others. Right, but its bits differ. */
#include "now_and_then.h"

static Status run(const VariantArgs *args) {
    double *at = NULL;
    TRY(now_and_then_run(args, &at));
    if (at) *at = nextafter(*at, INFINITY);
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_differs_now_and_then) = {.backend = BACKEND_CPU,
                                                    .summary = "mutant: the bits differ in one of 300 calls",
                                                    .origin = "tests",
                                                    .supports = windows_supports,
                                                    .run = run};
