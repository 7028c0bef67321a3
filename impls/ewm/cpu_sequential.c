/* Idea: one element after the other. The old mean keeps its share of the total weight, the new element takes the rest; the
 *   spread and the bias correction of a variance are blended likewise (ewm_step in _steps.h).
 * Traffic: each element is read once, each output written once; one thread.
 * Rounding: in double for all dtypes. A step adds an error of a few units in the last place of its mean or spread, and that
 *   error decays as fast as the elements do. A variance is blended from variances, it is no difference of squares.
 * Limits: each step waits for the one before it: two divisions, and a chain of about five operations from one mean to the next.
 *   The variance of elements so far apart that their squares overflow is inf.
 * Origin: pandas/_libs/window/aggregations.pyx (ewm, ewmcov), with the bias correction in a form without cancellation. */
#include "_steps.h"
#include "base/numbers.h"

static Status run(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    const uint8_t *starts = rule.segments ? args->in[1].data : NULL;
    EwmState state = {0};
    for (size_t i = 0; i < rule.n; i++) {
        if (starts && starts[i] != 0) state = (EwmState){0};
        ewm_step(&rule, &state, number_at(&args->in[0], i));
        number_put(&args->out[0], i, ewm_output(&rule, &state));
    }
    return STATUS_OK;
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(ewm, cpu_sequential) = {
    .backend = BACKEND_CPU,
    .summary = "the recurrence of mean, weight and spread, one thread",
    .origin = "pandas' ewm and ewmcov",
    .dtypes = DTYPES,
    .accumulates = ACCUMULATES,
    .run = run,
};
