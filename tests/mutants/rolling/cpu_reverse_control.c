/* Control: right, every sum from its window's end to its beginning, the last window first. Must pass. */
#include "windows.h"

static double mean(const double *x, size_t w) {
    double sum = 0;
    for (size_t i = w; i-- > 0;) sum += x[i];
    return sum / (double)w;
}

static Status run(const VariantArgs *args) {
    return windows_run(args, mean);
}

RUNGS_VARIANT(rolling, cpu_reverse_control) = {.backend = BACKEND_CPU,
                                               .summary = "mutant: is right, in reverse order",
                                               .origin = "tests",
                                               .supports = windows_supports,
                                               .run = run};
