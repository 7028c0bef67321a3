/* Mutant: is right, and takes 99% of the time of each call out of its process's clock. Must be rejected: no check of outputs can
 * tell, but its calls take longer by the parent's clock, and its times are below what the machine needs to move the bytes. */
#include "hidden_time.h"

static Status run(const VariantArgs *args) {
    if (hidden == 0) dl_iterate_phdr(replace_clock, NULL);
    const long begin = real_nanoseconds(CLOCK_MONOTONIC);
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    hidden += (real_nanoseconds(CLOCK_MONOTONIC) - begin) / 100 * 99;
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_slow_clock) = {.backend = BACKEND_CPU, .summary = "mutant: slows the clock", .origin = "tests", .run = run};
