/* The bounds of `rolling`; docs/ops/rolling.md has the argument for every constant. */
#include "rolling.h"

#include "reference/vector.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

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

/* Are all sums that a bound's roundings are of those of integers that the dtype holds? Then a sum's error is 0, and neither trials
 * nor conditions are needed. */
static bool sums_are_exact(const RollingProblem *problem) {
    const double terms = problem->bound == ROLLING_PREFIX ? (double)problem->input.n : (double)problem->window + 2 * ROLLING_REACH;
    if (!problem->integral || rolling_is_extreme(problem) || rolling_is_spread(problem) || divides(problem)) return false;
    return ldexp(terms, problem->most + 1) <= largest_exact(problem);
}

Status rolling_conditions(const RollingProblem *problem, WindowPlan plans[ROLLING_CONDITIONS], int *count) {
    *count = 0;
    if (rolling_is_extreme(problem) || sums_are_exact(problem)) return STATUS_OK;
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
    const long double random = sums * variance, alike = ROLLING_EXCESS * facts->excess * (variance + rounded);
    const long double expected = u * ((random > alike ? random : alike) + 24 * sqrtl(variance * square / w) + rounded);
    const long double worst = worst_error(growth(problem, w + 16), variance, square);
    bound_term("additions of squares of either sign, 4 u sqrt(w) var", u * (double)(sums * variance));
    bound_term("errors of one sign, 4 e u var", u * ROLLING_EXCESS * facts->excess * (double)(variance + rounded));
    bound_term("means that are rounded on the way, 24 u sqrt(var mean(x^2) / w)", u * 24 * (double)sqrtl(variance * square / w));
    return expected < worst ? expected : worst;
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

/* ---- Trials. Sums run from the oldest element and from the newest; variances by two corrected passes, by Welford's update and
 * by joining such parts; squares, for E[x^2] - E[x]^2, from the oldest. Numbers of either dtype are doubles here: one operation on
 * floats in double, rounded to float, is the float operation. */

enum { SHORTEST = 32, PART = 64, TILE = 256 /* elements of parts that are joined */ };

/* The elements of one window, and the arithmetic. */
typedef struct Trial {
    const double *x;
    size_t w;
    bool f32;
} Trial;

static inline double rounded(const Trial *trial, double value) {
    return trial->f32 ? (double)(float)value : value;
}

static double serial_sum(const Trial *t) {
    double sum = 0;
    for (size_t j = 0; j < t->w; j++) sum = rounded(t, sum + t->x[j]);
    return sum;
}

/* From either end, and the range of partial sums: together, as each addition waits for the one before it. */
typedef struct SerialSums {
    double from_oldest, from_newest;
    long double range;
} SerialSums;

static SerialSums serial_sums(const Trial *t) {
    double from_oldest = 0, from_newest = 0;
    long double sum = 0, high = 0, low = 0;
    for (size_t j = 0; j < t->w; j++) {
        from_oldest = rounded(t, from_oldest + t->x[j]);
        from_newest = rounded(t, from_newest + t->x[t->w - 1 - j]);
        sum += t->x[j];
        high = sum > high ? sum : high;
        low = sum < low ? sum : low;
    }
    return (SerialSums){from_oldest, from_newest, high - low};
}

static double serial_squares(const Trial *t) {
    double sum = 0;
    for (size_t j = 0; j < t->w; j++) sum = rounded(t, sum + rounded(t, t->x[j] * t->x[j]));
    return sum;
}

static double two_passes(const Trial *t) {
    const double w = (double)t->w, mean = rounded(t, serial_sum(t) / w);
    double squares = 0, rest = 0;
    for (size_t j = 0; j < t->w; j++) {
        const double d = rounded(t, t->x[j] - mean);
        squares = rounded(t, squares + rounded(t, d * d));
        rest = rounded(t, rest + d);
    }
    return rounded(t, squares - rounded(t, rest * rounded(t, rest / w)));
}

typedef struct Moments {
    double mean, spread;
} Moments;

/* By Welford's update. */
static Moments updated(const Trial *t, size_t first, size_t count) {
    Moments m = {0, 0};
    for (size_t k = 0; k < count; k++) {
        const double x = t->x[first + k], delta = rounded(t, x - m.mean);
        m.mean = rounded(t, m.mean + rounded(t, delta * rounded(t, 1 / (double)(k + 1))));
        m.spread = rounded(t, m.spread + rounded(t, delta * rounded(t, x - m.mean)));
    }
    return m;
}

/* From sums of x - c and (x - c)^2, where c is the element that is furthest from what the sums are about: a stable method may take
 * any of the part's elements. As good as an update unless c stands apart, and not tried then. */
static Moments shifted(const Trial *t, size_t first, size_t count) {
    const Moments plain = updated(t, first, count);
    double c = plain.mean, sum = 0, squares = 0;
    for (size_t k = first; k < first + count; k++)
        if (fabs(t->x[k] - plain.mean) > fabs(c - plain.mean)) c = t->x[k];
    if (!((c - plain.mean) * (c - plain.mean) > 16 * plain.spread / (double)count)) return plain;
    for (size_t k = first; k < first + count; k++) {
        const double d = rounded(t, t->x[k] - c);
        sum = rounded(t, sum + d);
        squares = rounded(t, squares + rounded(t, d * d));
    }
    const double mean = rounded(t, sum / (double)count);
    return (Moments){rounded(t, c + mean), rounded(t, squares - rounded(t, sum * mean))};
}

/* The spread of parts of so many elements, joined by Chan's rule. */
static double joined(const Trial *t, size_t part, Moments (*of)(const Trial *t, size_t first, size_t count)) {
    Moments all = {0, 0};
    for (size_t first = 0; first < t->w; first += part) {
        const size_t count = t->w - first < part ? t->w - first : part;
        const Moments m = of(t, first, count);
        const double share = rounded(t, (double)count / (double)(first + count)), delta = rounded(t, m.mean - all.mean);
        const double weight = rounded(t, (double)first * share);
        all.mean = rounded(t, all.mean + rounded(t, delta * share));
        all.spread = rounded(t, all.spread + rounded(t, m.spread + rounded(t, rounded(t, delta * weight) * delta)));
    }
    return all.spread;
}

/* |actual - exact| / unit; a NaN or an infinity is as much as the window is long. */
static double excess_of(double actual, long double exact, long double unit, size_t w) {
    const long double error = fabsl(actual - exact);
    if (error == 0) return 0;
    return error < (long double)w * unit ? (double)(error / unit) : (double)w;
}

/* Errors of one sign, in units of u times the sum: of terms that are equal, or all but equal beside the sum's last place, such as
 * small numbers that a large one swallows, or a few values again and again. If a share f of the neighbours are alike, about 1 / f
 * values take turns, and the mean of their w errors is some 1 / sqrt(1 / f) of one. It differs between windows, so a trial does not
 * tell. power: 1 for a sum, 2 for squares about the mean. */
static double alike(const Trial *t, double mean, int power, long double sum, double u) {
    const double near = (double)(2 * u * sum / 16), w = (double)t->w;
    double before = NAN;
    size_t count = 0;
    for (size_t j = 0; j < t->w; j++) {
        const double d = t->x[j] - mean, term = power == 1 ? d : d * d;
        count += fabs(term - before) <= near;
        before = term;
    }
    return 2 * w * sqrt((double)count / w) / ROLLING_EXCESS;
}

static double run_trial(const RollingProblem *problem, const Trial *t, const RollingSums *exact) {
    const double u = rolling_unit_roundoff(problem), w = (double)t->w;
    if (!rolling_is_spread(problem)) {
        const SerialSums sums = serial_sums(t);
        const long double value = fixed_mean(&exact->sum, 1), unit = u * sums.range;
        const double errors =
            larger(excess_of(sums.from_oldest, value, unit, t->w), excess_of(sums.from_newest, value, unit, t->w));
        return larger(errors, alike(t, 0, 1, sums.range, u));
    }
    const long double squares = fixed_mean(&exact->squares, 1), spread = rolling_sums_variance(exact) * (w - 1);
    if (problem->bound == ROLLING_TEXTBOOK)
        return larger(excess_of(serial_squares(t), squares, u * squares, t->w), alike(t, 0, 2, squares, u));
    const long double unit = u * (spread + 16 * u * squares);
    const double spreads[] = {two_passes(t), joined(t, t->w, updated), joined(t, PART, updated), joined(t, TILE, shifted)};
    double errors = 0;
    for (size_t k = 0; k < sizeof spreads / sizeof *spreads; k++)
        errors = larger(errors, excess_of(spreads[k], spread, unit, t->w));
    if (spread == 0) return errors;
    const double equal = alike(t, (double)(fixed_mean(&exact->sum, t->w)), 2, spread, u);
    return larger(errors, equal * (double)(u * spread / unit)); /* errors of squares, not of means */
}

/* The last element of trial k's window. */
static size_t end_of(const RollingTrials *trials, const RollingProblem *problem, size_t k) {
    const size_t end = problem->window - 1 + k * trials->stride;
    return end < problem->input.n ? end : problem->input.n - 1;
}

Status rolling_trials_run(const RollingProblem *problem, RollingTrials *out) {
    const size_t w = problem->window;
    *out = (RollingTrials){.stride = w / 2};
    if (rolling_is_extreme(problem) || w < SHORTEST || sums_are_exact(problem)) return STATUS_OK;
    out->count = (problem->input.n - w + out->stride - 1) / out->stride + 1;
    out->excess = malloc(out->count * sizeof *out->excess);
    bool failed = !out->excess;
#pragma omp parallel
    {
        double *x = malloc(w * sizeof *x);
        if (!x) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic)
        for (size_t k = 0; k < out->count; k++) {
            if (!x || !out->excess) continue;
            const size_t first = end_of(out, problem, k) + 1 - w;
            for (size_t j = 0; j < w; j++) x[j] = rolling_finite(problem, first + j);
            const RollingSums exact = rolling_sums_before(problem, first + w);
            const Trial trial = {x, w, problem->input.f32};
            out->excess[k] = run_trial(problem, &trial, &exact);
        }
        free(x);
    }
    if (!failed) return STATUS_OK;
    rolling_trials_free(out);
    return status_fail(STATUS_MEMORY, "rolling reference: no memory for trial sums of %zu elements", w);
}

void rolling_trials_free(RollingTrials *trials) {
    free(trials->excess);
    *trials = (RollingTrials){0};
}

double rolling_trials_near(const RollingTrials *trials, const RollingProblem *problem, size_t i, size_t *until) {
    *until = SIZE_MAX;
    if (trials->count == 0) return 0;
    const size_t reach = problem->bound == ROLLING_WINDOW || problem->bound == ROLLING_WEIGHTED ? 0 : ROLLING_REACH;
    const size_t place = i + 1 - problem->window, from = place > reach ? (place - reach) / trials->stride : 0;
    const size_t to = (place + trials->stride - 1) / trials->stride;
    const size_t before_from = reach + (from + 1) * trials->stride, before_to = to * trials->stride + 1;
    *until = problem->window - 1 + (before_from < before_to ? before_from : before_to);
    double most = 0;
    for (size_t k = from; k <= to && k < trials->count; k++) most = larger(most, trials->excess[k]);
    return most;
}
