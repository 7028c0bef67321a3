/* Idea: one element after the other: the old mean keeps its share of all weight, the new element takes the rest.
 * Traffic: each element once in, once out; one thread.
 * Rounding: in double for both dtypes; a step errs by a few units of its mean, or of its spread, and what a step has lost fades as its
 *   elements do. A variance is blended from variances, never a difference of squares.
 * Limits: each step waits for the one before it. The variance of elements so far apart that their squares overflow is inf.
 * Origin: pandas/_libs/window/aggregations.pyx (ewm, ewmcov), with the correction for bias in a form that has no cancellation. */
#include "common/ewm/steps.h"

static Status run(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    EwmState state = {0};
    const uint8_t *starts = rule.segments ? args->in[1].data : NULL;
    ewm_walk(&rule, &state, args->in[0].data, starts, args->out[0].data, args->problem->dtype == DTYPE_F32, 0, rule.n);
    return STATUS_OK;
}

RUNGS_VARIANT(ewm, cpu_sequential) = {
    .backend = BACKEND_CPU,
    .summary = "the recurrence of mean, weight and spread, one thread",
    .origin = "pandas' ewm and ewmcov",
    .run = run,
};
