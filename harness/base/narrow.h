/* narrow.h - floating-point numbers of 16 bits, the same on host and GPU: f16 (IEEE 754-2019, binary16) and bf16 (the upper half of
 * an f32). To wider types they are exact; from double they are rounded to nearest, ties to even, once, subnormals included. */
#ifndef RUNGS_BASE_NARROW_H
#define RUNGS_BASE_NARROW_H

#include "base/rng.h"

#include <math.h>
#include <stdint.h>

typedef struct NarrowForm {
    int exponent_bits, fraction_bits;
} NarrowForm;

#define NARROW_F16 ((NarrowForm){5, 10})
#define NARROW_BF16 ((NarrowForm){8, 7})

/* The exponent of the smallest normal number: -14, -126. */
static inline RNG_BOTH int narrow_least(NarrowForm form) {
    return 2 - (1 << (form.exponent_bits - 1));
}

static inline RNG_BOTH unsigned narrow_infinity(NarrowForm form) {
    return ((1u << form.exponent_bits) - 1) << form.fraction_bits;
}

static inline RNG_BOTH double narrow_value(NarrowForm form, uint16_t bits) {
    const unsigned size = bits & 0x7fff, fraction = size & ((1u << form.fraction_bits) - 1), exponent = size >> form.fraction_bits;
    double value;
    if (size >= narrow_infinity(form))
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp((double)fraction, narrow_least(form) - form.fraction_bits);
    else
        value = ldexp((double)(fraction + (1u << form.fraction_bits)), (int)exponent - 1 + narrow_least(form) - form.fraction_bits);
    return bits & 0x8000 ? -value : value;
}

/* What is too large becomes infinite. */
static inline RNG_BOTH uint16_t narrow_bits(NarrowForm form, double x) {
    const unsigned sign = signbit(x) ? 0x8000 : 0, infinity = narrow_infinity(form);
    int exponent;
    if (isnan(x)) return (uint16_t)(sign | infinity | 1u << (form.fraction_bits - 1));
    if (isinf(x)) return (uint16_t)(sign | infinity);
    (void)frexp(x, &exponent); /* 2^(exponent - 1) <= |x| < 2^exponent */
    const int least = narrow_least(form), level = x != 0 && exponent - 1 > least ? exponent - 1 : least;
    if (level > -least + 1) return (uint16_t)(sign | infinity);
    const unsigned digits = (unsigned)rint(ldexp(fabs(x), form.fraction_bits - level)); /* 2^fraction_bits: the next level */
    const unsigned size = ((unsigned)(level - least) << form.fraction_bits) + digits;
    return (uint16_t)(sign | (size < infinity ? size : infinity));
}

/* As many digits as the form has, and no end of the exponents: what is beyond the range is told from it by narrow_end(). */
static inline double narrow_nearest(NarrowForm form, double x) {
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    (void)frexp(x, &exponent);
    const int least = narrow_least(form), place = (exponent - 1 > least ? exponent - 1 : least) - form.fraction_bits;
    return ldexp(rint(ldexp(x, -place)), place);
}

/* The first number beyond the range: 2^16, 2^128. */
static inline double narrow_end(NarrowForm form) {
    return ldexp(1, 2 - narrow_least(form));
}

#endif
