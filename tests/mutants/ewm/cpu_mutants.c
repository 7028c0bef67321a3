/* Mutants: ewm as impls/ewm/cpu_sequential.c computes it, with one rule broken each. */
#include "../common/mutants.h"

#include "ewm/_steps.h"

typedef struct Spoilt {
    bool late_series; /* a series begins one element late */
    bool still_time;  /* a NaN takes no time: pandas' ignore_na=True */
    bool biased;      /* variances are not corrected: pandas' bias=True */
    bool textbook;    /* variances are differences of mean squares */
    bool zero;        /* the last output is 0 */
} Spoilt;

static Status spoilt_ewm(const VariantArgs *args, Spoilt how) {
    const EwmCase rule = ewm_case(args);
    const uint8_t *starts = rule.segments ? args->in[1].data : NULL;
    const bool f32 = args->problem->dtype == DTYPE_F32;
    EwmState state = {0}, square = {0};
    for (size_t i = 0; i < rule.n; i++) {
        const size_t asked = how.late_series && i > 0 ? i - 1 : i;
        if (starts && starts[asked] != 0) state = square = (EwmState){0};
        const double gap = state.gap, x = ewm_load(args->in[0].data, i, f32);
        ewm_step(&rule, &state, x);
        if (how.still_time && rule.nan_decays && isnan(x)) state.gap = gap;
        ewm_step(&rule, &square, x * x);
        EwmState seen = state;
        if (how.textbook) seen.spread = fmax(square.mean - state.mean * state.mean, 0);
        if (how.biased && seen.pairs > 0) seen.pairs = 1;
        ewm_store(args->out[0].data, i, f32, how.zero && i + 1 == rule.n ? 0 : ewm_output(&rule, &seen));
    }
    return STATUS_OK;
}

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(biased_variance, .biased = true)                                                                                             \
    M(forgets_gaps, .still_time = true)                                                                                            \
    M(leaks_across_series, .late_series = true)                                                                                    \
    M(textbook_variance, .textbook = true)                                                                                         \
    M(zero, .zero = true)
MUTANT_TABLE(Spoilt)

static Status run(const VariantArgs *args) {
    return spoilt_ewm(args, *mutant_of(args));
}

RUNGS_VARIANT(ewm, cpu_mutants) = {.backend = BACKEND_CPU,
                                   .summary = "exponential weights that are wrong in one rule",
                                   .origin = "tests",
                                   .tunables = TUNABLES,
                                   .run = run};
