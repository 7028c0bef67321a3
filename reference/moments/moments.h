/* moments.h - shared by the files of the op `moments`. */
#pragma once

#include "op.h"
#include "reference/dd.h"

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

/* sums.c: sums over the columns of a row-major matrix for the reference of `moments`: two passes, each a cascaded sum in
 * double-double, the same bits for any number of threads and any instruction set.
 *
 * A matrix of few columns is read as one of more columns and fewer rows, so that vectors fill: `fold` rows side by side. Rows are
 * cut into chunks of a fixed length, columns into strips; what a chunk gives is merged in the chunks' order.
 */
enum { MOMENTS_POWERS = 6 };

typedef struct MomentsInput {
    const void *x;       /* [rows, cols] */
    const void *weights; /* [rows]; NULL: all 1 */
    double weight_scale; /* a power of two that weights are taken times */
    bool f32;
    size_t rows, cols;
    int powers; /* 4 or 6 */
} MomentsInput;

/* One column. Elements that are not finite count as 0 in the sums. */
typedef struct MomentsColumn {
    double min, max; /* NaN ignored; +inf, -inf if there is nothing else */
    bool nan;
    double scale; /* a power of two: scale |x| < 2 */
    /* Of scale x: */
    double mean_abs;
    double shift;                 /* the mean, rounded to double */
    Dd offset;                    /* mean - shift */
    Dd power[MOMENTS_POWERS + 1]; /* mean of (x - shift)^p, p = 2 .. powers */
} MomentsColumn;

/* total: the sum of the scaled weights, or rows. rows > 0. */
Status moments_sums(const MomentsInput *input, Dd total, MomentsColumn *columns);
