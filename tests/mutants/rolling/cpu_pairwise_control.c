/* Control: right, with pairwise sums. Must pass. */
#include "windows.h"

static double pairs(const double *x, size_t count) {
    return count == 1 ? x[0] : pairs(x, count / 2) + pairs(x + count / 2, count - count / 2);
}

static double mean(const double *x, size_t w) {
    return pairs(x, w) / (double)w;
}

static Status run(const VariantArgs *args) {
    return windows_run(args, mean);
}

RUNGS_VARIANT(rolling, cpu_pairwise_control) = {.backend = BACKEND_CPU,
                                                .summary = "mutant: is right, with pairwise sums",
                                                .origin = "tests",
                                                .supports = windows_supports,
                                                .run = run};
