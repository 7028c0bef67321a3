/* Mutants: rolling mean, sum, var and std on one thread, every window from scratch in double, with one mistake each. */
#include "../common/mutants.h"
#include "../common/narrow.h"

#include <math.h>

enum { SPOILT_MEAN, SPOILT_SUM, SPOILT_VAR, SPOILT_STD };

typedef struct Spoilt {
    size_t longer;     /* windows hold so many elements more, divided by their right length */
    bool running;      /* one sum for the whole array: add what enters, subtract what leaves */
    bool kahan;        /* that sum compensated, so that it drifts only behind a huge number */
    bool swallows_nan; /* a NaN counts as 0 */
    bool early;        /* an output of fewer elements one place before the first full window */
    bool biased;       /* variances are divided by w */
    bool single;       /* sums are floats */
    bool zero;         /* the last output is 0 */
    bool textbook;     /* variances are differences of mean squares */
    Narrow narrow;
} Spoilt;

static double spoilt_load(const VariantArgs *args, size_t i) {
    return number_at(&args->in[0], i);
}

static void spoilt_store(const VariantArgs *args, size_t i, double value) {
    number_put(&args->out[0], i, value);
}

/* x, or what the mutant takes for it. */
static double spoilt_element(const VariantArgs *args, Spoilt how, size_t i) {
    const double x = spoilt_load(args, i);
    return how.swallows_nan && isnan(x) ? 0 : x;
}

/* The sum of (x - about)^power over elements [first, end). */
static double spoilt_sum(const VariantArgs *args, Spoilt how, size_t first, size_t end, double about, int power) {
    double sum = 0, rest = 0; /* Neumaier's compensation */
    for (size_t i = first; i < end; i++) {
        const double d = spoilt_element(args, how, i) - about, term = power == 2 ? d * d : d, next = sum + term;
        if (how.single) {
            sum = (double)(float)next;
            continue;
        }
        if (isfinite(next)) rest += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return sum + rest;
}

static double spoilt_window(const VariantArgs *args, Spoilt how, size_t first, size_t end, int agg) {
    const double w = (double)(end - first), sum = spoilt_sum(args, how, first, end, 0, 1), mean = sum / w;
    if (agg == SPOILT_SUM) return sum;
    if (agg == SPOILT_MEAN) return mean;
    const double rest = spoilt_sum(args, how, first, end, mean, 1);
    double spread = spoilt_sum(args, how, first, end, mean, 2) - rest * (rest / w);
    if (how.textbook) spread = spoilt_sum(args, how, first, end, 0, 2) - sum * (sum / w);
    const double variance = (spread < 0 ? 0 : spread) / (how.biased ? w : w - 1);
    return agg == SPOILT_VAR ? variance : sqrt(variance);
}

static void spoilt_add(double *sum, double *lost, double x) {
    const double term = lost ? x - *lost : x, next = *sum + term;
    if (lost) *lost = (next - *sum) - term;
    *sum = next;
}

static Status spoilt_rolling(const VariantArgs *args, Spoilt how) {
    const Params *params = &args->problem->params;
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(params, "window");
    const int agg = params_choice(params, "agg");
    const double incomplete = params_choice(params, "incomplete") == 0 ? (double)NAN : (double)INFINITY;
    double sum = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        const double leaves = i >= w ? spoilt_element(args, how, i - w) : 0;
        spoilt_add(&sum, how.kahan ? &lost : NULL, spoilt_element(args, how, i));
        spoilt_add(&sum, how.kahan ? &lost : NULL, -leaves);
        if (i + 1 + how.early < w) {
            spoilt_store(args, i, incomplete);
            continue;
        }
        const size_t begin = i + 1 > w + how.longer ? i + 1 - w - how.longer : 0;
        double value = spoilt_window(args, how, begin, i + 1, agg);
        if (how.running && agg <= SPOILT_SUM) value = agg == SPOILT_MEAN ? sum / (double)w : sum;
        spoilt_store(args, i, how.zero && i + 1 == n ? 0 : value);
    }
    return STATUS_OK;
}

static bool spoilt_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (params_choice(&args->problem->params, "agg") <= SPOILT_STD) return true;
    return variant_refuse(reason, "the mutants of rolling have mean, sum, var and std");
}

/* Mean and sum, in the type of sums. */
static Status narrow_rolling(const VariantArgs *args, const Narrow *wrong) {
    const Params *params = &args->problem->params;
    const Case *problem = args->problem;
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(params, "window");
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = i + 1 < w ? i + 1 : i + 1 - w; j <= i; j++)
            sum = narrow_sum(wrong, problem, sum + narrow_input(wrong, &args->in[0], j));
        if (params_choice(params, "agg") == SPOILT_MEAN) sum = narrow_sum(wrong, problem, sum / (double)w);
        if (i + 1 < w)
            spoilt_store(args, i, (double)NAN);
        else
            narrow_output(wrong, &args->out[0], i, sum);
    }
    return STATUS_OK;
}

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(biased_variance, .biased = true)                                                                                             \
    M(drifts, .running = true)                                                                                                     \
    M(early, .early = true)                                                                                                        \
    M(float_sums, .single = true)                                                                                                  \
    M(keeps_spike, .running = true, .kahan = true)                                                                                 \
    M(swallows_nan, .swallows_nan = true)                                                                                          \
    M(textbook_variance, .textbook = true)                                                                                         \
    M(window_off_by_one, .longer = 1)                                                                                              \
    M(zero, .zero = true)                                                                                                          \
    M(bf16_inputs, .narrow.f32_digits = 7)                                                                                         \
    M(tf32_inputs, .narrow.f32_digits = 10)                                                                                        \
    M(narrow_sums, .narrow.sums = true)                                                                                            \
    M(narrow_inputs, .narrow.inputs = true)                                                                                        \
    M(narrow_outputs, .narrow.truncates = true)
MUTANT_TABLE(Spoilt)

static Status run(const VariantArgs *args) {
    const Narrow *narrow = &mutant_of(args)->narrow;
    return is_narrowed(args, narrow) ? narrow_rolling(args, narrow) : spoilt_rolling(args, *mutant_of(args));
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};
RUNGS_VARIANT(rolling, cpu_mutants) = {.backend = BACKEND_CPU,
                                       .summary = "rolling windows that are wrong in one way",
                                       .origin = "tests",
                                       .tunables = TUNABLES,
                                       .dtypes = DTYPES,
                                       .accumulates = ACCUMULATES,
                                       .supports = spoilt_supports,
                                       .run = run};
