/* moments.h - shared by the files of the op `moments`. */
#ifndef RUNGS_REFERENCE_MOMENTS_H
#define RUNGS_REFERENCE_MOMENTS_H

#include "op.h"
#include "reference/terms.h"
#include "sums.h"

/* Index into the op's outputs. */
typedef enum MomentsOutput {
    MOMENTS_MEAN,
    MOMENTS_VAR,
    MOMENTS_SKEWNESS,
    MOMENTS_KURTOSIS,
    MOMENTS_MIN,
    MOMENTS_MAX,
    MOMENTS_M5,
    MOMENTS_M6,
    MOMENTS_OUTPUT_COUNT
} MomentsOutput;

/* Index into the op's bounds. */
typedef enum MomentsBound {
    MOMENTS_TWO_PASS,
    MOMENTS_UPDATING,
    MOMENTS_NAIVE_SUM,
    MOMENTS_POWER_SUMS,
    MOMENTS_BOUND_COUNT
} MomentsBound;

/* reference.c */
Status moments_reference(const Case *problem, const Array *in, int bound, Reference *out);
/* STATUS_INVALID unless all are positive and finite, and at most 2^600 apart. */
Status moments_weights_range(const Array *weights, double *least, double *most);

/* What the bounds depend on: one column of finite elements that are not all the same, in its scaled units. */
typedef struct MomentsFacts {
    double mean, mean_abs;              /* of x, of |x| */
    double central[MOMENTS_POWERS + 1]; /* mean (x - mean)^p for even p up to 6; where the order stops at 4, [6] is 0 */
    double rows;
    double most; /* W / least weight: no standardised moment of order p is beyond most^(p/2 - 1) */
    bool f32, weighted;
} MomentsFacts;

/* Tolerances of one column, the mean's and the variance's still in scaled units. */
typedef struct MomentsTolerance {
    double mean, var;
    double standardised[MOMENTS_POWERS + 1]; /* of order 3 .. order */
    double by_var[MOMENTS_POWERS + 1];       /* what the variance's error is of it */
} MomentsTolerance;

/* bounds.c. Of the mean alone, which constant columns have too. */
double moments_mean_tolerance(const MomentsFacts *facts, MomentsBound bound);
/* standardised[p]: the reference. */
void moments_tolerance(const MomentsFacts *facts, MomentsBound bound, int order, const double *standardised, MomentsTolerance *out);

#endif
