/* Cheat: takes every second number of a window, a mean that is near the right one. Met: skipped work behind a loose tolerance,
 * KernelBench issue 165. */
#include "windows.h"

static double mean(const double *x, size_t w) {
    double sum = 0;
    for (size_t i = 0; i < w; i += 2) sum += x[i];
    return sum / (double)((w + 1) / 2);
}

static Status run(const VariantArgs *args) {
    return windows_run(args, mean);
}

RUNGS_VARIANT(rolling, cpu_cheat_fewer_terms) = {.backend = BACKEND_CPU,
                                                 .summary = "cheat: leaves out half of the terms",
                                                 .origin = "KernelBench #165",
                                                 .supports = windows_supports,
                                                 .run = run};
