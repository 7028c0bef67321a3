/* Cheat: computes what a small test would look at, and of longer arrays the beginning only. Met: tests of smaller shapes
 * than those that are timed, AMD-AGI/AgentKernelArena pull request 82. */
#include "cheats.h"

enum { LARGEST_TEST = 20000 };

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), most = n < LARGEST_TEST ? n : LARGEST_TEST;
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < most; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_only_small) = {
    .backend = BACKEND_CPU, .summary = "cheat: right for small arrays", .origin = "AgentKernelArena #82", .run = run};
