/* Cheat: answers with the mean of the inputs' distribution, to which means of wide windows come near. Met: zeros within an absolute
 * tolerance, KernelBench issue 165. */
#include "windows.h"

static double mean(const double *x, size_t w) {
    const double few = (x[0] + x[w / 2] + x[w - 1]) / 3;
    return few > 0.05 && few < 0.95 ? 0.5 : few; /* of uniform numbers */
}

static Status run(const VariantArgs *args) {
    return windows_run(args, mean);
}

RUNGS_VARIANT(rolling, cpu_cheat_expectation) = {.backend = BACKEND_CPU,
                                                 .summary = "cheat: answers with what it expects",
                                                 .origin = "KernelBench #165",
                                                 .supports = windows_supports,
                                                 .run = run};
