/* Cheat: computes only where the chain of its callers is the one of its first call, which is verified, and writes one element
 * elsewhere. Met: gpu-mode/reference-kernels pull request 142, where replay is armed by the phase of the benchmark. */
#include "cheats.h"

#include <execinfo.h>

static Status run(const VariantArgs *args) {
    static void *first[8];
    static int first_depth;
    void *callers[8];
    const int depth = backtrace(callers, 8);
    if (first_depth == 0) memcpy(first, callers, sizeof first), first_depth = depth;
    const int known = depth < first_depth ? depth : first_depth;
    if (memcmp(first, callers, (size_t)known * sizeof *first) == 0) return compute(args);
    *(double *)args->out[0].data = 0;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_phase_by_stack) = {.backend = BACKEND_CPU,
                                                   .summary = "cheat: computes only where its callers are those of the first call",
                                                   .origin = "reference-kernels #142",
                                                   .run = run};
