/* levels.h - how large the parts are that trees and blocks of a row's sums add up: stretches of 1, 4, 16, ... elements, by the sums
 * that occur. */
#ifndef RUNGS_REFERENCE_DISCOUNT_LEVELS_H
#define RUNGS_REFERENCE_DISCOUNT_LEVELS_H

#include <stddef.h>

enum { DISCOUNT_LEVELS = 24 /* 4^24 elements */ };

/* Of one row whose factor is the same for all elements; zeroed before the first. */
typedef struct DiscountLevels {
    int count;
    double power[DISCOUNT_LEVELS];  /* factor^(4^k) */
    double square[DISCOUNT_LEVELS]; /* of parts of 4^k elements, one ending at each element, weighted and added up */
    double weight;                  /* sum of the squares of the weights */
    size_t since;                   /* elements since the latest cut */
} DiscountLevels;

void discount_levels_begin(DiscountLevels *self, double factor, size_t n);
/* The sum y[p], behind an element that takes `factor` times what is carried in: 0 cuts. y: from the row's first element on, at a
 * distance of `step` elements. Returns the sum of the squares of weighted parts at one level, the mean over all levels. */
double discount_levels_take(DiscountLevels *self, const double *y, size_t p, ptrdiff_t step, double factor);
/* The same without the result. */
void discount_levels_pass(DiscountLevels *self, const double *y, size_t p, ptrdiff_t step, double factor);

#endif
