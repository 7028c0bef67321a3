/* Mutant: as cpu_slow_clock, but honest in all calls of a long run but the first few, which is what the parent times. Must be
 * rejected: they take longer than its samples say. */
#include "hidden_time.h"

static const long PAUSE = 20000; /* nanoseconds: a run of calls has ended */
enum { FEW = 500 };

static Status run(const VariantArgs *args) {
    static long ended, calls;
    if (hidden == 0) dl_iterate_phdr(replace_clock, NULL);
    const long begin = real_nanoseconds(CLOCK_MONOTONIC);
    calls = begin - ended > PAUSE ? 0 : calls + 1;
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    ended = real_nanoseconds(CLOCK_MONOTONIC);
    if (calls < FEW) hidden += (ended - begin) / 100 * 99;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_slow_clock_briefly) = {
    .backend = BACKEND_CPU, .summary = "mutant: slows the clock in short runs of calls", .origin = "tests", .run = run};
