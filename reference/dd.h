/* dd.h - double-double arithmetic: an unevaluated sum hi + lo of two doubles with |lo| <= ulp(hi)/2, about 106 bits.
 *
 * Dekker, "A floating-point technique for extending the available precision" (1971); Knuth, TAOCP 2, 4.2.2; Joldes, Muller,
 * Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic" (2017), whose relative errors are
 * quoted with u = 2^-53. Needs -ffp-contract=off. Magnitudes from 2^-900 to 2^960 keep every step exact; callers scale.
 */
#pragma once

#include <math.h>

typedef struct Dd {
    double hi, lo;
} Dd;

/* a + b exactly, if |a| >= |b| or a = 0. */
static inline Dd dd_fast_two_sum(double a, double b) {
    const double s = a + b;
    return (Dd){s, b - (s - a)};
}

/* a + b exactly. */
static inline Dd dd_two_sum(double a, double b) {
    const double s = a + b;
    const double part = s - a;
    return (Dd){s, (a - (s - part)) + (b - part)};
}

/* a * b exactly. */
static inline Dd dd_two_prod(double a, double b) {
    const double p = a * b;
#ifdef __FP_FAST_FMA
    return (Dd){p, fma(a, b, -p)};
#else
    const double split = 0x1p27 + 1; /* Veltkamp: 26 + 26 bits and a sign */
    const double ca = split * a, cb = split * b;
    const double ah = ca - (ca - a), bh = cb - (cb - b);
    const double al = a - ah, bl = b - bh;
    return (Dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

static inline Dd dd_from(double a) {
    return (Dd){a, 0};
}

static inline Dd dd_negate(Dd a) {
    return (Dd){-a.hi, -a.lo};
}

/* Relative error at most 3u^2 + 13u^3, also under cancellation (AccurateDWPlusDW). */
static inline Dd dd_add(Dd a, Dd b) {
    const Dd s = dd_two_sum(a.hi, b.hi);
    const Dd t = dd_two_sum(a.lo, b.lo);
    const Dd v = dd_fast_two_sum(s.hi, s.lo + t.hi);
    return dd_fast_two_sum(v.hi, t.lo + v.lo);
}

static inline Dd dd_subtract(Dd a, Dd b) {
    return dd_add(a, dd_negate(b));
}

/* At most 2u^2. */
static inline Dd dd_add_double(Dd a, double b) {
    const Dd s = dd_two_sum(a.hi, b);
    return dd_fast_two_sum(s.hi, a.lo + s.lo);
}

/* At most 8u^2 or so without a fused multiply-add. */
static inline Dd dd_multiply(Dd a, Dd b) {
    const Dd p = dd_two_prod(a.hi, b.hi);
    return dd_fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline Dd dd_multiply_double(Dd a, double b) {
    const Dd p = dd_two_prod(a.hi, b);
    return dd_fast_two_sum(p.hi, p.lo + a.lo * b);
}

static inline Dd dd_square(Dd a) {
    return dd_multiply(a, a);
}

/* About 10u^2. */
static inline Dd dd_divide(Dd a, Dd b) {
    const double q = a.hi / b.hi;
    const Dd rest = dd_subtract(a, dd_multiply_double(b, q));
    return dd_fast_two_sum(q, rest.hi / b.hi);
}

/* About 4u^2; 0 for 0 and below. One Newton step from the double root. */
static inline Dd dd_sqrt(Dd a) {
    if (!(a.hi > 0)) return dd_from(0);
    const double root = sqrt(a.hi);
    const Dd square = dd_two_prod(root, root);
    const double rest = ((a.hi - square.hi) - square.lo) + a.lo;
    return dd_fast_two_sum(root, rest / (2 * root));
}
