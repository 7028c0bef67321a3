/* See rolling.h. Sums run from the oldest element and from the newest; variances by two corrected passes, by Welford's update and
 * by joining such parts; squares, for E[x^2] - E[x]^2, from the oldest. Numbers of either dtype are doubles here: one operation on
 * floats in double, rounded to float, is the float operation. */
#include "rolling.h"

#include "reference/vector.h"

#include <math.h>
#include <stdlib.h>

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
    if (rolling_is_extreme(problem) || w < SHORTEST || rolling_sums_are_exact(problem)) return STATUS_OK;
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
