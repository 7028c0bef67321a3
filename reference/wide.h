/* wide.h - double-double numbers with an exponent of their own: neither overflow nor subnormal numbers. Some ten times as slow as
 * dd.h, whose precision they have; for sums whose weights leave the range of doubles. */
#pragma once

#include "dd.h"

#include <stdint.h>

/* part 2^exponent, with 1/2 <= |part.hi| < 1; or 0, 0. Finite. */
typedef struct Wide {
    Dd part;
    int64_t exponent;
} Wide;

static inline Wide wide_normalise(Dd part, int64_t exponent) {
    int shift;
    if (part.hi == 0) return (Wide){{0, 0}, 0};
    const double hi = frexp(part.hi, &shift);
    return (Wide){{hi, ldexp(part.lo, -shift)}, exponent + shift};
}

static inline Wide wide_from(double a) {
    return wide_normalise(dd_from(a), 0);
}

static inline Wide wide_from_dd(Dd a) {
    const Wide hi = wide_from(a.hi);
    return (Wide){{hi.part.hi, hi.exponent < -1000 ? 0 : ldexp(a.lo, (int)-hi.exponent)}, hi.exponent};
}

static inline Wide wide_absolute(Wide a) {
    return a.part.hi < 0 ? (Wide){dd_negate(a.part), a.exponent} : a;
}

static inline Wide wide_multiply(Wide a, Wide b) {
    return wide_normalise(dd_multiply(a.part, b.part), a.exponent + b.exponent);
}

static inline Wide wide_add(Wide a, Wide b) {
    if (a.part.hi == 0) return b;
    if (b.part.hi == 0) return a;
    const Wide large = a.exponent < b.exponent ? b : a, small = a.exponent < b.exponent ? a : b;
    const int64_t below = large.exponent - small.exponent;
    if (below > 200) return large;
    const Dd part = {ldexp(small.part.hi, (int)-below), ldexp(small.part.lo, (int)-below)};
    return wide_normalise(dd_add(large.part, part), large.exponent);
}

/* Rounded, where it is subnormal; an infinity beyond the range. */
static inline Dd wide_to_dd(Wide a) {
    const int exponent = a.exponent > 2000 ? 2000 : a.exponent < -2000 ? -2000 : (int)a.exponent;
    const double hi = ldexp(a.part.hi, exponent);
    return (Dd){hi, isfinite(hi) ? ldexp(a.part.lo, exponent) : 0};
}

static inline double wide_to_double(Wide a) {
    return wide_to_dd(a).hi;
}
