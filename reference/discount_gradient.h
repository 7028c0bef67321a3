/* discount_gradient.h - dL/dgamma of discounted sums, and the numbers that it is computed in. */
#ifndef RUNGS_REFERENCE_DISCOUNT_GRADIENT_H
#define RUNGS_REFERENCE_DISCOUNT_GRADIENT_H

#include "discount.h"

/* A sum of products of inputs, with what its errors are measured by: sum |products| and sum j |products|, where j counts the
 * factors of the recurrence in a product. `plain` is what IEEE doubles make of it: it tells NaN and inf. Zeroed it is the empty
 * sum, which makes every product empty, those with NaN too: what a reset cuts off. */
typedef struct Num {
    bool some;
    Dd value;
    double magnitude, travelled, plain;
} Num;

static inline Num num_input(double x, double scale) {
    const double finite = isfinite(x) ? x * scale : 0;
    return (Num){true, dd_from(finite), fabs(finite), 0, x};
}

static inline Num num_factor(double g) {
    const double finite = isfinite(g) ? g : 0;
    return (Num){true, dd_from(finite), fabs(finite), fabs(finite), g};
}

static inline Num num_add(Num a, Num b) {
    if (!a.some || !b.some) return a.some ? a : b;
    return (Num){true, dd_add(a.value, b.value), a.magnitude + b.magnitude, a.travelled + b.travelled, a.plain + b.plain};
}

static inline Num num_multiply(Num a, Num b) {
    if (!a.some || !b.some) return (Num){0};
    return (Num){true, dd_multiply(a.value, b.value), a.magnitude * b.magnitude,
                 a.magnitude * b.travelled + a.travelled * b.magnitude, a.plain * b.plain};
}

/* One row in reading order of the sums: y[p] = x[p] + g[p] y[p-1] over the last `terms` terms. */
typedef struct GradientRow {
    RecurrenceLine x, dy; /* dy read in the order of x */
    size_t terms;
} GradientRow;

/* Adds dL/dg[p] to products[p], which begin empty, for terms < n. discount_gradient_window.c */
Status gradient_window(const GradientRow *row, Num *products);

/* dgamma and its tolerance, in the shape of gamma. all_terms: the tolerance is four times that of the sums of all terms. */
Status discount_gradient(const Discount *self, const void *x, const void *dy, bool all_terms, Truth *dgamma);

#endif
