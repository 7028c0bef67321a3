/* rolling.h - shared by the files of the op `rolling`. */
#pragma once

#include "fixed.h"
#include "op.h"
#include "reference/terms.h"
#include "windows.h"

/* Index of the parameter `agg`, in the order of its choices. */
typedef enum RollingAgg { ROLLING_MEAN, ROLLING_SUM, ROLLING_VAR, ROLLING_STD, ROLLING_MIN, ROLLING_MAX, ROLLING_APPLY } RollingAgg;

/* Index into the op's bounds. */
typedef enum RollingBound {
    ROLLING_WINDOW,
    ROLLING_RUNNING,
    ROLLING_TEXTBOOK,
    ROLLING_PREFIX,
    ROLLING_WEIGHTED,
    ROLLING_BOUND_COUNT
} RollingBound;

/* The case as the reference uses it. */
typedef struct RollingProblem {
    RollingAgg agg;
    RollingBound bound;
    size_t window;
    double incomplete; /* what stands where the window is not full */
    WindowInput input;
    int least, most; /* exponents of the lowest and the highest bit of all finite elements; 0 if all are 0 */
    bool integral;   /* every finite element is an integer */
    bool one_sign;   /* none is negative, or none is positive */
} RollingProblem;

static inline bool rolling_is_spread(const RollingProblem *problem) {
    return problem->agg == ROLLING_VAR || problem->agg == ROLLING_STD;
}
static inline bool rolling_is_extreme(const RollingProblem *problem) {
    return problem->agg == ROLLING_MIN || problem->agg == ROLLING_MAX;
}
static inline double rolling_unit_roundoff(const RollingProblem *problem) {
    return problem->input.f32 ? 0x1p-24 : 0x1p-53;
}
/* As the sums see it: 0 if it is not finite. */
static inline double rolling_finite(const RollingProblem *problem, size_t i) {
    const double x = window_element(&problem->input, i);
    return x - x == 0 ? x : 0;
}

/* reference.c: mean, sum, var, std, min, max. */
Status rolling_reference(const Case *problem, const Array *x, int bound, Reference *out);
/* apply.c: the user's own window function. */
Status rolling_apply_reference(const Case *problem, const Array *x, int bound, Reference *out);

/* wrong.c: Op.wrong, Op.wrong_value. */
extern const char *const ROLLING_WRONG[];
bool rolling_wrong_value(const Case *problem, const Array *in, const Reference *right, int which, int output, size_t element,
                         double *value);

/* reference.c: exact sums of the window that ends at `last`, for mean, sum, var and std. */
typedef struct RollingSums {
    const RollingProblem *problem;
    double units; /* 2^-least if every element times it is an int64_t; 0 otherwise */
    Fixed sum, squares;
} RollingSums;

/* The window that ends before `first`, from scratch. */
RollingSums rolling_sums_before(const RollingProblem *problem, size_t first);
long double rolling_sums_variance(const RollingSums *self);

/* bounds.c: where rounding errors are not random, such as in sums of equal numbers or behind a number that swallows all others,
 * they are measured. Plain algorithms run in the dtype over one window in every w / 2; an excess is their error in units of u times
 * what the bound multiplies. */
typedef struct RollingTrials {
    size_t stride, count; /* count 0: windows so short that their bounds are worst cases */
    double *excess;
} RollingTrials;

Status rolling_trials_run(const RollingProblem *problem, RollingTrials *out);
void rolling_trials_free(RollingTrials *trials);
/* The largest excess near output i; it is the same for the outputs up to *until. */
double rolling_trials_near(const RollingTrials *trials, const RollingProblem *problem, size_t i, size_t *until);

/* What is known of the window of an output. value: the reference; variance, square: of a spread. */
typedef struct RollingFacts {
    double value;
    long double variance, square;
    double excess;
} RollingFacts;

/* bounds.c: which windows a bound's conditions are taken from, and the tolerance they give. */
enum { ROLLING_CONDITIONS = 2, ROLLING_REACH = 64, ROLLING_EXCESS = 4 /* what an excess counts */ };
/* Plans for the conditions that (agg, bound) needs; *count of them. */
Status rolling_conditions(const RollingProblem *problem, WindowPlan plans[ROLLING_CONDITIONS], int *count);
/* Of sums or means first .. first + count - 1, which have one excess; 0 where the value is not finite. range: the condition, output
 * `first` is its element `at`; NULL: sums are exact. */
void rolling_sum_tolerances(const RollingProblem *problem, size_t first, size_t count, double excess, const WindowRow *range,
                            size_t at, Reference *out);
/* Of a spread's output i, which is element k of the conditions. */
double rolling_spread_tolerance(const RollingProblem *problem, size_t i, const RollingFacts *facts,
                                const WindowRow conditions[ROLLING_CONDITIONS], size_t k);
