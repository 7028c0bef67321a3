/* The bounds of `rolling`; docs/ops/rolling.md has the argument for every constant. */
#include "rolling.h"

#include <float.h>
#include <math.h>

typedef struct Condition {
    WindowKind kind;
    enum { REACH_NONE, REACH_WINDOW, REACH_STEPS, REACH_START } reach;
} Condition;

/* [is it a variance?][bound] */
static const Condition CONDITIONS[2][ROLLING_BOUND_COUNT][ROLLING_CONDITIONS] = {
    {
        [ROLLING_WINDOW] = {{WINDOW_RANGE, REACH_WINDOW}},
        [ROLLING_RUNNING] = {{WINDOW_RANGE, REACH_STEPS}},
        [ROLLING_TEXTBOOK] = {{WINDOW_RANGE, REACH_STEPS}},
        [ROLLING_PREFIX] = {{WINDOW_RANGE, REACH_START}},
        [ROLLING_WEIGHTED] = {{WINDOW_RANGE, REACH_WINDOW}},
    },
    {
        [ROLLING_RUNNING] = {{WINDOW_MOMENTS, REACH_STEPS}},
        [ROLLING_TEXTBOOK] = {{WINDOW_SQUARE, REACH_STEPS}},
        [ROLLING_PREFIX] = {{WINDOW_SQUARE, REACH_START}, {WINDOW_RANGE, REACH_START}},
    },
};

/* Products with 1/w round, whatever the data; so do the quotients of the published update, s += (new - old) / w. */
static bool divides(const RollingProblem *problem) {
    return problem->bound == ROLLING_WEIGHTED || (problem->bound == ROLLING_TEXTBOOK && problem->agg == ROLLING_MEAN);
}

/* No sum of magnitudes may be larger. */
static double largest_exact(const RollingProblem *problem) {
    return problem->input.f32 ? 0x1p24 : 0x1p53;
}

bool rolling_sums_are_exact(const RollingProblem *problem) {
    const double terms = problem->bound == ROLLING_PREFIX ? (double)problem->input.n : (double)problem->window + 2 * ROLLING_REACH;
    if (!problem->integral || rolling_is_extreme(problem) || rolling_is_spread(problem) || divides(problem)) return false;
    return ldexp(terms, problem->most + 1) <= largest_exact(problem);
}

Status rolling_conditions(const RollingProblem *problem, WindowPlan plans[ROLLING_CONDITIONS], int *count) {
    *count = 0;
    if (rolling_is_extreme(problem) || rolling_sums_are_exact(problem)) return STATUS_OK;
    const Condition *wanted = CONDITIONS[rolling_is_spread(problem)][problem->bound];
    for (int c = 0; c < ROLLING_CONDITIONS && wanted[c].reach != REACH_NONE; c++) {
        const size_t shift = wanted[c].reach == REACH_STEPS ? ROLLING_REACH : 0;
        const size_t length = wanted[c].reach == REACH_START ? problem->input.n : problem->window + 2 * shift;
        const WindowKind kind = wanted[c].kind == WINDOW_RANGE && problem->one_sign ? WINDOW_SIZE : wanted[c].kind;
        TRY(window_plan(&problem->input, kind, length, shift, &plans[c]));
        ++*count;
    }
    return STATUS_OK;
}

static long double smaller(long double a, long double b) {
    return a < b ? a : b;
}

static long double larger(long double a, long double b) {
    return a > b ? a : b;
}

/* Growth of rounding errors, but never more than 1/256: a result that is further off is wrong, whatever theory allows a serial sum
 * of that length. */
static double growth(const RollingProblem *problem, double terms) {
    return fmin(terms * rolling_unit_roundoff(problem), 0x1p-8);
}

/* Errors of so many additions, in units of u times the largest partial sum: 7 standard deviations of roundings, which are 0.41 u in
 * the mean square, if every partial sum were the largest; four times what a trial showed; and never more than one for each. 8: a
 * few operations beside. */
static double additions(double terms, double roundings, double excess) {
    return fmin(terms, fmax(3 * sqrt(roundings), ROLLING_EXCESS * excess)) + 8;
}

/* Longest chain of additions behind element i of a prefix sum whose tiles have at least 512 elements. */
static double scan_depth(size_t i) {
    return (double)(i / 512) + 64;
}

static bool updates(const RollingProblem *problem) {
    return problem->bound == ROLLING_RUNNING || problem->bound == ROLLING_TEXTBOOK;
}

/* What is the same for all outputs with one excess. */
typedef struct SumRates {
    double random, alike; /* additions: of either sign, of one sign */
    double growth;
} SumRates;

static SumRates sum_rates(const RollingProblem *problem, double excess) {
    const double w = (double)problem->window, terms = updates(problem) ? w + 2 * ROLLING_REACH : w - 1;
    const double roundings = updates(problem) ? 2 * terms : terms; /* an update adds and drops */
    return (SumRates){3 * sqrt(roundings), ROLLING_EXCESS * excess, growth(problem, additions(terms, roundings, excess))};
}

/* range: of partial sums, see WINDOW_RANGE; size: sum |x|. Of numbers of one sign both are the same, and WINDOW_SIZE is computed.
 */
typedef struct Range {
    long double range, size;
} Range;

static inline Range range_at(const RollingProblem *problem, const WindowRow *row, size_t k) {
    if (problem->one_sign) return (Range){row->number[k], row->number[k]};
    return (Range){row->part[k].high - row->part[k].low, row->part[k].b};
}

/* Of the sum over the window. */
static inline long double sum_error(const RollingProblem *problem, size_t i, const SumRates *rates, Range of) {
    const double u = rolling_unit_roundoff(problem);
    if (problem->integral && !divides(problem) && of.size <= largest_exact(problem)) return 0; /* partial sums are exact */
    if (problem->bound == ROLLING_PREFIX) return 4 * scan_depth(i) * u * of.range;
    bound_term("additions of either sign, 3 u sqrt(w) R", rates->random);
    bound_term("errors of one sign, 4 e u R", rates->alike);
    return rates->growth * of.range + (problem->bound == ROLLING_WEIGHTED ? 2 * u * of.size : 0);
}

/* Error of var by a stable algorithm, in the worst case. square: sum x^2 / (w - 1). */
static long double worst_error(double g, long double variance, long double square) {
    return 4 * g * sqrtl(variance * square) + 16 * g * g * square;
}

/* The same as it is to be expected: the squares' sum, the errors of means on the way, and a mean that is rounded. */
static long double stable_error(const RollingProblem *problem, const RollingFacts *facts) {
    const double w = (double)problem->window, u = rolling_unit_roundoff(problem);
    const long double variance = facts->variance, square = facts->square, rounded = 16 * u * square;
    const double sums = w < 32 ? w + 8 : 4 * sqrt(w) + 8;
    const long double expected = u * (larger(sums * variance, ROLLING_EXCESS * facts->excess * (variance + rounded)) +
                                      24 * sqrtl(variance * square / w) + rounded);
    bound_term("additions of squares of either sign, 4 u sqrt(w) var", u * (double)(sums * variance));
    bound_term("errors of one sign, 4 e u var", u * ROLLING_EXCESS * facts->excess * (double)(variance + rounded));
    bound_term("means that are rounded on the way, 24 u sqrt(var mean(x^2) / w)", u * 24 * (double)sqrtl(variance * square / w));
    return smaller(expected, worst_error(growth(problem, w + 16), variance, square));
}

static long double variance_error(const RollingProblem *problem, size_t i, const RollingFacts *facts, const WindowRow *conditions,
                                  size_t k) {
    const double w = (double)problem->window, u = rolling_unit_roundoff(problem), steps = w + 2 * ROLLING_REACH;
    RollingFacts own = *facts;
    if (problem->bound == ROLLING_TEXTBOOK) own.excess = 0; /* its trials are of another sum */
    const long double error = stable_error(problem, &own);
    switch (problem->bound) {
    case ROLLING_RUNNING: {
        const Part *p = &conditions[0].part[k];
        const long double variance = p->b / (w - 1);
        return error + worst_error(growth(problem, steps + 16), variance, variance + p->n * p->a * p->a / (w - 1));
    }
    case ROLLING_TEXTBOOK:
        return error + 2 * growth(problem, additions(steps, 2 * steps, facts->excess)) * conditions[0].number[k] / (w - 1);
    case ROLLING_PREFIX: {
        const double g = 4 * scan_depth(i) * u;
        const long double sum = g * range_at(problem, &conditions[1], k).range, size = sqrtl(facts->square * (w - 1) / w);
        return error + (g * conditions[0].number[k] + 2 * size * sum + sum * (sum / w)) / (w - 1);
    }
    default:
        return error;
    }
}

/* Largest |sqrt(v') - sqrt(v)| for v' >= 0 with |v' - v| <= dv. */
static long double root_error(long double v, long double dv) {
    return v > dv ? dv / (sqrtl(v) + sqrtl(v - dv)) : sqrtl(dv);
}

static inline double at_most_finite(long double tolerance) {
    return tolerance < DBL_MAX ? (double)tolerance : DBL_MAX;
}

/* The smallest denormal. */
static inline long double tiny(const RollingProblem *problem) {
    return problem->input.f32 ? 0x1p-149L : 0x1p-1074L;
}

void rolling_sum_tolerances(const RollingProblem *problem, size_t first, size_t count, double excess, const WindowRow *range,
                            size_t at, Reference *out) {
    const SumRates rates = sum_rates(problem, excess);
    const double w = (double)problem->window, u = rolling_unit_roundoff(problem);
    for (size_t k = 0; k < count; k++) {
        const size_t i = first + k;
        const double size = fabs(out->value[i]);
        out->tolerance[i] = 0;
        if (!isfinite(size)) continue;
        const long double error = sum_error(problem, i, &rates, range ? range_at(problem, range, at + k) : (Range){0, 0});
        if (problem->agg == ROLLING_MEAN)
            out->tolerance[i] = at_most_finite(error / w + 3 * u * size + 2 * tiny(problem)); /* by w, or by 1/w */
        else if (error > 0)
            out->tolerance[i] = at_most_finite(error + 2 * u * size);
        bound_terms_settle(&out->tolerance[i]);
    }
}

double rolling_spread_tolerance(const RollingProblem *problem, size_t i, const RollingFacts *facts,
                                const WindowRow conditions[ROLLING_CONDITIONS], size_t k) {
    const double u = rolling_unit_roundoff(problem), size = fabs(facts->value);
    const long double error = variance_error(problem, i, facts, conditions, k), v = facts->variance;
    if (problem->agg == ROLLING_VAR) return at_most_finite(error + 4 * u * size + 8 * tiny(problem));
    return at_most_finite(root_error(v, error + 4 * u * v + 8 * tiny(problem)) + 4 * u * size);
}
