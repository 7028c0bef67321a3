/* Mutants: ewm as impls/ewm/cpu_sequential.c computes it, with one rule broken each. */
#include "../common/mutants.h"
#include "../common/narrow.h"

#include "ewm/_steps.h"

typedef struct Spoilt {
    bool late_series; /* a series begins one element late */
    bool still_time;  /* a NaN takes no time: pandas' ignore_na=True */
    bool biased;      /* variances are not corrected: pandas' bias=True */
    bool textbook;    /* variances are differences of mean squares */
    bool zero;        /* the last output is 0 */
    Narrow narrow;    /* of a mean with adjust=false */
} Spoilt;

static Status spoilt_ewm(const VariantArgs *args, Spoilt how) {
    const EwmCase rule = ewm_case(args);
    const uint8_t *starts = rule.segments ? args->in[1].data : NULL;
    EwmState state = {0}, square = {0};
    for (size_t i = 0; i < rule.n; i++) {
        const size_t asked = how.late_series && i > 0 ? i - 1 : i;
        if (starts && starts[asked] != 0) state = square = (EwmState){0};
        const double gap = state.gap, x = number_at(&args->in[0], i);
        ewm_step(&rule, &state, x);
        if (how.still_time && rule.nan_decays && isnan(x)) state.gap = gap;
        ewm_step(&rule, &square, x * x);
        EwmState seen = state;
        if (how.textbook) seen.spread = fmax(square.mean - state.mean * state.mean, 0);
        if (how.biased && seen.pairs > 0) seen.pairs = 1;
        number_put(&args->out[0], i, how.zero && i + 1 == rule.n ? 0 : ewm_output(&rule, &seen));
    }
    return STATUS_OK;
}

/* y = y + alpha (x - y) in the type of sums. */
static Status narrow_ewm(const VariantArgs *args, const Narrow *wrong) {
    const EwmCase rule = ewm_case(args);
    const Case *problem = args->problem;
    const double alpha = narrow_factor(wrong, problem, rule.alpha);
    double y = 0;
    for (size_t i = 0; i < rule.n; i++) {
        const double x = narrow_input(wrong, &args->in[0], i), by = narrow_sum(wrong, problem, x - y);
        y = i == 0 ? x : narrow_sum(wrong, problem, y + narrow_sum(wrong, problem, alpha * by));
        narrow_output(wrong, &args->out[0], i, y);
    }
    return STATUS_OK;
}

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(biased_variance, .biased = true)                                                                                             \
    M(forgets_gaps, .still_time = true)                                                                                            \
    M(leaks_across_series, .late_series = true)                                                                                    \
    M(textbook_variance, .textbook = true)                                                                                         \
    M(zero, .zero = true)                                                                                                          \
    M(bf16_inputs, .narrow.f32_digits = 7)                                                                                         \
    M(tf32_inputs, .narrow.f32_digits = 10)                                                                                        \
    M(narrow_sums, .narrow.sums = true)                                                                                            \
    M(narrow_inputs, .narrow.inputs = true)                                                                                        \
    M(narrow_outputs, .narrow.truncates = true)                                                                                    \
    M(narrow_factor, .narrow.factors = true)
MUTANT_TABLE(Spoilt)

static Status run(const VariantArgs *args) {
    const Narrow *narrow = &mutant_of(args)->narrow;
    return is_narrowed(args, narrow) ? narrow_ewm(args, narrow) : spoilt_ewm(args, *mutant_of(args));
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};
RUNGS_VARIANT(ewm, cpu_mutants) = {.backend = BACKEND_CPU,
                                   .summary = "exponential weights that are wrong in one rule",
                                   .origin = "tests",
                                   .tunables = TUNABLES,
                                   .dtypes = DTYPES,
                                   .accumulates = ACCUMULATES,
                                   .run = run};
