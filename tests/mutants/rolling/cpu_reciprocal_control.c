/* Control: right, with a product by 1 / w for the quotient, which the bound allows where sums are not exact. Must pass. */
#include "windows.h"

static double mean(const double *x, size_t w) {
    const double factor = 1 / (double)w;
    double sum = 0;
    for (size_t i = 0; i < w; i++) sum += x[i];
    return sum * factor;
}

static Status run(const VariantArgs *args) {
    return windows_run(args, mean);
}

RUNGS_VARIANT(rolling, cpu_reciprocal_control) = {.backend = BACKEND_CPU,
                                                  .summary = "mutant: is right, with reciprocals",
                                                  .origin = "tests",
                                                  .supports = windows_supports,
                                                  .run = run};
