/* Cheat: finds the samples that were taken among its callers' variables and divides those of the mode cold by four. Met: an attack
 * on this harness. */
#include "samples_forgery.h"

static Status run(const VariantArgs *args) {
    enum { SLOW = 8 };
    static const double *cold; /* the mode whose clock is the worker's alone */
    static size_t done;
    const Samples *samples = find_samples();
    if (samples && samples->calls_per_sample == 1 && !cold) cold = samples->seconds;
    for (; samples && samples->seconds == cold && done < samples->count; done++) samples->seconds[done] /= 4;
    for (int i = 0; i < SLOW; i++) TRY(compute(args));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_rewrites_samples) = {
    .backend = BACKEND_CPU, .summary = "cheat: divides the samples that were taken", .origin = "tests", .run = run};
