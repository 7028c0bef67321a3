/* sums.h - sums over the columns of a row-major matrix for the reference of `moments`: two passes, each a cascaded sum in
 * double-double, the same bits for any number of threads and any instruction set.
 *
 * A matrix of few columns is read as one of more columns and fewer rows, so that vectors fill: `fold` rows side by side. Rows are
 * cut into chunks of a fixed length, columns into strips; what a chunk gives is merged in the chunks' order.
 */
#ifndef RUNGS_MOMENTS_SUMS_H
#define RUNGS_MOMENTS_SUMS_H

#include "base/status.h"
#include "reference/dd.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
