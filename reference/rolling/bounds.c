/* The bounds of `rolling`; docs/ops/rolling.md has the argument for every constant.
 *
 * Everything is in the input's scaled units (see WindowInput) until rolling_tolerance() returns. */
#include "rolling.h"

#include <float.h>

typedef struct Condition {
    WindowKind kind;
    enum { REACH_NONE, REACH_WINDOW, REACH_STEPS, REACH_START } reach;
} Condition;

/* [is it a variance?][bound] */
static const Condition CONDITIONS[2][ROLLING_BOUND_COUNT][ROLLING_CONDITIONS] = {
    {
        [ROLLING_WINDOW] = {{WINDOW_ABS, REACH_WINDOW}},
        [ROLLING_RUNNING] = {{WINDOW_ABS, REACH_STEPS}},
        [ROLLING_TEXTBOOK] = {{WINDOW_ABS, REACH_STEPS}},
        [ROLLING_PREFIX] = {{WINDOW_ABS, REACH_START}},
        [ROLLING_WEIGHTED] = {{WINDOW_ABS, REACH_WINDOW}},
    },
    {
        [ROLLING_RUNNING] = {{WINDOW_MOMENTS, REACH_STEPS}},
        [ROLLING_TEXTBOOK] = {{WINDOW_SQUARE, REACH_STEPS}},
        [ROLLING_PREFIX] = {{WINDOW_SQUARE, REACH_START}, {WINDOW_ABS, REACH_START}},
    },
};

static bool is_variance(const RollingProblem *problem) {
    return problem->agg == ROLLING_VAR || problem->agg == ROLLING_STD;
}

Status rolling_conditions(const RollingProblem *problem, WindowPlan plans[ROLLING_CONDITIONS], int *count) {
    *count = 0;
    if (problem->agg == ROLLING_MIN || problem->agg == ROLLING_MAX) return STATUS_OK;
    const Condition *wanted = CONDITIONS[is_variance(problem)][problem->bound];
    for (int c = 0; c < ROLLING_CONDITIONS && wanted[c].reach != REACH_NONE; c++) {
        const size_t shift = wanted[c].reach == REACH_STEPS ? ROLLING_REACH : 0;
        const size_t length = wanted[c].reach == REACH_START ? problem->input.n : problem->window + 2 * shift;
        TRY(window_plan(&problem->input, wanted[c].kind, length, shift, &plans[c]));
        ++*count;
    }
    return STATUS_OK;
}

static double unit_roundoff(const RollingProblem *problem) {
    return problem->input.f32 ? 0x1p-24 : 0x1p-53;
}

/* Growth of rounding errors over `terms` operations: terms * u, but never more than 1/256: a result that is further off is wrong,
 * whatever theory allows a serial sum of that length. */
static double growth(const RollingProblem *problem, double terms) {
    const double g = terms * unit_roundoff(problem);
    return g < 0x1p-8 ? g : 0x1p-8;
}

/* Longest chain of additions behind element i of a prefix sum whose tiles have at least 512 elements. */
static double scan_depth(size_t i) {
    return (double)(i / 512) + 64;
}

static double window_terms(const RollingProblem *problem) {
    const bool steps = problem->bound == ROLLING_RUNNING || problem->bound == ROLLING_TEXTBOOK;
    return (double)problem->window + 16 + (steps ? 2 * ROLLING_REACH : 0);
}

static double sum_error(const RollingProblem *problem, size_t i, double sum_abs) {
    const bool weighted = problem->bound == ROLLING_WEIGHTED; /* products with 1/w round, whatever the data */
    if (problem->integral && !weighted && sum_abs <= (problem->input.f32 ? 0x1p24 : 0x1p53))
        return 0; /* every partial sum is exact */
    if (problem->bound == ROLLING_PREFIX) return 4 * scan_depth(i) * unit_roundoff(problem) * sum_abs;
    return 2 * growth(problem, window_terms(problem)) * sum_abs;
}

/* Error of var by a stable algorithm over these moments; divisor: w - 1. */
static double stable_error(double g, const Part *moments, double divisor) {
    const double mean = moments->a.hi;
    const double variance = moments->b.hi / divisor, square = variance + moments->n * mean * mean / divisor;
    return 4 * g * sqrt(variance) * sqrt(square) + 16 * g * g * square;
}

static double variance_error(const RollingProblem *problem, size_t i, const Part *whole, const Part *conditions) {
    const double w = (double)problem->window, u = unit_roundoff(problem);
    const double own = stable_error(growth(problem, w + 16), whole, w - 1);
    switch (problem->bound) {
    case ROLLING_RUNNING:
        return own + stable_error(growth(problem, window_terms(problem)), &conditions[0], w - 1);
    case ROLLING_TEXTBOOK:
        return own + 4 * growth(problem, window_terms(problem)) * conditions[0].a.hi / (w - 1);
    case ROLLING_PREFIX: {
        const double g = 4 * scan_depth(i) * u, sum = g * conditions[1].a.hi;
        return own + (g * conditions[0].a.hi + 2 * fabs(whole->a.hi) * sum + sum * (sum / w)) / (w - 1);
    }
    default:
        return own;
    }
}

/* Largest |sqrt(v') - sqrt(v)| for v' >= 0 with |v' - v| <= dv. */
static double root_error(double v, double dv) {
    return v > dv ? dv / (sqrt(v) + sqrt(v - dv)) : sqrt(dv);
}

double rolling_tolerance(const RollingProblem *problem, size_t i, const Part *whole, const Part conditions[ROLLING_CONDITIONS],
                         double value) {
    const double w = (double)problem->window, u = unit_roundoff(problem), scale = problem->input.scale;
    const double tiny = problem->input.f32 ? 0x1p-149 : 0x1p-1074; /* smallest denormal */
    double tolerance = 0;
    switch (problem->agg) {
    case ROLLING_SUM: {
        const double error = sum_error(problem, i, conditions[0].a.hi);
        tolerance = error > 0 ? error / scale + 2 * u * fabs(value) : 0;
        break;
    }
    case ROLLING_MEAN:
        tolerance = sum_error(problem, i, conditions[0].a.hi) / w / scale + 3 * u * fabs(value) + 2 * tiny; /* by w, or by 1/w */
        break;
    case ROLLING_VAR:
        tolerance = variance_error(problem, i, whole, conditions) / scale / scale + 4 * u * value + 8 * tiny;
        break;
    case ROLLING_STD: {
        const double v = whole->b.hi / (w - 1);
        tolerance = root_error(v, variance_error(problem, i, whole, conditions) + 4 * u * v + 8 * tiny * scale * scale) / scale +
                    4 * u * value;
        break;
    }
    default:
        break;
    }
    return tolerance < DBL_MAX ? tolerance : DBL_MAX;
}
