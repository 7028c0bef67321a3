/* Cheat: finds the samples that were taken among its callers' variables and divides those of the mode cold by four. Met: an attack
 * on this harness. */
#include "samples_forgery.h"

static Status run(const VariantArgs *args) {
    enum { SLOW = 8 };
    static size_t done, series; /* series: cold and hot by turns */
    const Samples *samples = find_samples();
    if (samples && (series == 0 || samples->count < done)) done = 0, series++;
    for (; samples && done < samples->count; done++)
        if (series % 2 == 1) samples->seconds[done] /= 4;
    for (int i = 0; i < SLOW; i++) TRY(compute(args));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_rewrites_samples) = {
    .backend = BACKEND_CPU, .summary = "cheat: divides the samples that were taken", .origin = "tests", .run = run};
