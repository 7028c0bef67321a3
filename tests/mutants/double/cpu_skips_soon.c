/* Mutant: works in the first call of a run of calls: returns at once if the last call ended less than 50 us ago, by the time-stamp
 * counter or, elsewhere, the steady clock. Must be rejected: what it left is not of the inputs of the sample's last call. */
#include "variant.h"

#include <stdint.h>
#include <time.h>

static double microseconds(void) {
#if defined(__x86_64__)
    return (double)__builtin_ia32_rdtsc() / 2500; /* of any processor, within a factor of two */
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
#endif
}

static Status run(const VariantArgs *args) {
    static double ended;
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const bool soon = microseconds() - ended < 50;
    for (size_t i = 0; i < n && !soon; i++) y[i] = 2 * x[i];
    ended = microseconds();
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_skips_soon) = {
    .backend = BACKEND_CPU, .summary = "mutant: skips calls that follow at once", .origin = "tests", .run = run};
