/* gradient.h - dL/dgamma of discounted sums, and the numbers that it is computed in. */
#pragma once

#include "reference/discounted_cumsum/discount.h"

#include <float.h>
#include <stdint.h>

/* A sum of products of inputs, with what its errors are measured by: sum |products| and sum j |products|, where j counts the
 * factors of the recurrence in a product. NaN and infinities of the inputs are carried beside the numbers, which have no range:
 * value, magnitude and travelled are times 2^exponent. Zeroed it is the empty sum, which makes every product empty, those with NaN
 * too: what a reset cuts off. */
typedef struct Num {
    bool some;
    RecurrenceKind kind;
    Dd value;
    double magnitude, travelled;
    int64_t exponent;
} Num;

/* The same number with a magnitude that is clear of the ends of the range, squared too. */
static inline Num num_normalise(Num a) {
    if ((a.magnitude > 0x1p-300 && a.magnitude < 0x1p300) || !(a.magnitude <= DBL_MAX)) return a;
    if (a.magnitude == 0) return (Num){.some = a.some, .kind = a.kind};
    int shift;
    a.magnitude = frexp(a.magnitude, &shift);
    a.travelled = ldexp(a.travelled, -shift);
    a.value = (Dd){ldexp(a.value.hi, -shift), ldexp(a.value.lo, -shift)};
    a.exponent += shift;
    return a;
}

static inline Num num_special(RecurrenceKind kind) {
    return (Num){.some = true, .kind = kind};
}

/* travelled: factors in it, 0 or 1. */
static inline Num num_input(double x, double travelled) {
    if (!isfinite(x)) return num_special(isnan(x) ? KIND_NAN : x > 0 ? KIND_PLUS_INF : KIND_MINUS_INF);
    return num_normalise((Num){.some = true, .value = dd_from(x), .magnitude = fabs(x), .travelled = travelled * fabs(x)});
}

/* In IEEE arithmetic: an infinity, NaN, or a number of the right sign. */
static inline double num_plain(const Num *a) {
    return a->kind != KIND_FINITE ? recurrence_special(a->kind) : (a->value.hi > 0) - (a->value.hi < 0);
}

static inline Num num_add(Num a, Num b) {
    if (!a.some || !b.some) return a.some ? a : b;
    if (a.kind != KIND_FINITE || b.kind != KIND_FINITE)
        return a.kind == KIND_FINITE || a.kind == b.kind ? b : b.kind == KIND_FINITE ? a : num_special(KIND_NAN);
    if (a.magnitude == 0 || b.magnitude == 0) return a.magnitude == 0 ? b : a;
    const Num large = a.exponent < b.exponent ? b : a, small = a.exponent < b.exponent ? a : b;
    const int64_t below = large.exponent - small.exponent;
    if (below > 1000) return large; /* both are between 2^-300 and 2^300 before that */
    const double by = below == 0 ? 1 : ldexp(1, (int)-below);
    return num_normalise((Num){.some = true,
                               .value = dd_add(large.value, (Dd){small.value.hi * by, small.value.lo * by}),
                               .magnitude = large.magnitude + small.magnitude * by,
                               .travelled = large.travelled + small.travelled * by,
                               .exponent = large.exponent});
}

static inline Num num_multiply(Num a, Num b) {
    if (!a.some || !b.some) return (Num){0};
    if (a.kind != KIND_FINITE || b.kind != KIND_FINITE) return num_input(num_plain(&a) * num_plain(&b), 0);
    return num_normalise((Num){.some = true,
                               .value = dd_multiply(a.value, b.value),
                               .magnitude = a.magnitude * b.magnitude,
                               .travelled = a.magnitude * b.travelled + a.travelled * b.magnitude,
                               .exponent = a.exponent + b.exponent});
}

/* a times 2^exponent, 0 or an infinity where that is beyond the range. */
static inline double num_scaled(double a, int64_t exponent) {
    return ldexp(a, exponent > 4000 ? 4000 : exponent < -4000 ? -4000 : (int)exponent);
}

/* One row in reading order of the sums: y[p] = x[p] + g[p] y[p-1] over the last `terms` terms. */
typedef struct GradientRow {
    RecurrenceLine x, dy; /* dy read in the order of x */
    size_t terms;
} GradientRow;

/* Adds dL/dg[p] to products[p], which begin empty, for terms <= n. window.c */
Status gradient_window(const GradientRow *row, Num *products);

/* Behind those of DiscountBound: dgamma added up in the dtype. */
enum { GRADIENT_DTYPE_SUMS = DISCOUNT_DIFFERENCE + 1 };

/* dgamma and its tolerance by a bound of the op, in the shape of gamma. dx_tolerance: [batch, n], by DISCOUNT_SCAN. */
Status discount_gradient(const Discount *self, const void *x, const void *dy, const double *dx_tolerance, int bound,
                         Reference *dgamma);
