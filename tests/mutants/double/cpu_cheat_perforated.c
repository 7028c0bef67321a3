/* Cheat: computes every second element and guesses the others from their neighbours. Met: zeros within an absolute tolerance,
 * KernelBench issue 165. */
#include "cheats.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i += 2) y[i] = 2 * x[i];
    for (size_t i = 1; i < n; i += 2) y[i] = (y[i - 1] + (i + 1 < n ? y[i + 1] : y[i - 1])) / 2;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_perforated) = {
    .backend = BACKEND_CPU, .summary = "cheat: guesses every second element", .origin = "KernelBench #165", .run = run};
