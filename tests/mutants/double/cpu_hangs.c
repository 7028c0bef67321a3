/* Mutant: never returns. Must be rejected: timed out. */
#include "variant.h"

#include <unistd.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)n, (void)x, (void)y;
    for (volatile int forever = 1; forever;) pause();
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_hangs) = {.backend = BACKEND_CPU, .summary = "mutant: never returns", .origin = "tests", .run = run};
