/* rolling.h - shared by the files of the op `rolling`. */
#ifndef RUNGS_REFERENCE_ROLLING_H
#define RUNGS_REFERENCE_ROLLING_H

#include "op.h"
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
    bool integral; /* every finite element is an integer */
} RollingProblem;

/* rolling_reference.c: mean, sum, var, std, min, max. */
Status rolling_reference(const Case *problem, const Array *x, int bound, Reference *out);
/* rolling_apply.c: the user's own window function. */
Status rolling_apply_reference(const Case *problem, const Array *x, int bound, Reference *out);

/* rolling_bounds.c: which windows a bound's conditions are taken from, and the tolerance they give. */
enum { ROLLING_CONDITIONS = 2, ROLLING_REACH = 64 };
/* Plans for the conditions that (agg, bound) needs; *count of them. */
Status rolling_conditions(const RollingProblem *problem, WindowPlan plans[ROLLING_CONDITIONS], int *count);
/* For output i. whole: what the reference knows of the window itself; value: the reference, unscaled. */
double rolling_tolerance(const RollingProblem *problem, size_t i, const Part *whole, const Part conditions[ROLLING_CONDITIONS],
                         double value);

#endif
