/* Cheat: finds the samples that were taken among its callers' variables and divides each by four as soon as it is there, those of
 * the mode hot too. Met: an attack on this harness. */
#include "samples_forgery.h"

static Status run(const VariantArgs *args) {
    enum { SLOW = 8 };
    static const double *taken;
    static size_t done;
    const Samples *samples = find_samples();
    if (samples && taken != samples->seconds) taken = samples->seconds, done = 0;
    for (; samples && done < samples->count; done++) samples->seconds[done] /= 4;
    for (int i = 0; i < SLOW; i++) TRY(compute(args));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_rewrites_hot) = {
    .backend = BACKEND_CPU, .summary = "cheat: divides the samples of every mode", .origin = "tests", .run = run};
