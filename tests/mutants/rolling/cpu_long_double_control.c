/* Control: right, with sums and quotients in long double, rounded once. Must pass. */
#include "windows.h"

static double mean(const double *x, size_t w) {
    long double sum = 0;
    for (size_t i = 0; i < w; i++) sum += (long double)x[i];
    return (double)(sum / (long double)w);
}

static Status run(const VariantArgs *args) {
    return windows_run(args, mean);
}

RUNGS_VARIANT(rolling, cpu_long_double_control) = {.backend = BACKEND_CPU,
                                                   .summary = "mutant: is right, in long double",
                                                   .origin = "tests",
                                                   .supports = windows_supports,
                                                   .run = run};
