/* narrow.h - floating-point numbers of 16 and 8 bits, the same on host and GPU: f16 (IEEE 754-2019, binary16), bf16 (the upper half
 * of an f32), and e5m2 and e4m3 of OCP's 8-bit floating point (OFP8 1.0, as NVIDIA has them): e5m2 as IEEE would have it; e4m3
 * without infinities, with one NaN of each sign and 448 as its largest. To wider types they are exact; from double they are rounded
 * to nearest, ties to even, once, subnormals included, and nothing saturates. */
#pragma once

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct NarrowForm {
    int exponent_bits, fraction_bits;
    bool finite; /* no infinity: all patterns but the last are numbers */
} NarrowForm;

#define NARROW_F16 ((NarrowForm){5, 10, false})
#define NARROW_BF16 ((NarrowForm){8, 7, false})
#define NARROW_F32 ((NarrowForm){8, 23, false}) /* as what is rounded to: its patterns are no narrow_bits() */
#define NARROW_E4M3 ((NarrowForm){4, 3, true})
#define NARROW_E5M2 ((NarrowForm){5, 2, false})

/* The exponent of the smallest normal number: -14, -126, -6, -14. */
static inline RNG_BOTH int narrow_least(NarrowForm form) {
    return 2 - (1 << (form.exponent_bits - 1));
}

static inline RNG_BOTH unsigned narrow_sign(NarrowForm form) {
    return 1u << (form.exponent_bits + form.fraction_bits);
}

/* The first pattern beyond the numbers: infinity, of e4m3 the NaN. */
static inline RNG_BOTH unsigned narrow_infinity(NarrowForm form) {
    return form.finite ? narrow_sign(form) - 1 : ((1u << form.exponent_bits) - 1) << form.fraction_bits;
}

/* 2^exponent, of a normal double: ldexp() and frexp() take several times as long. */
static inline RNG_BOTH double narrow_power(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^e <= |x| < 2^(e + 1); of a zero or a subnormal double less than any form's. */
static inline RNG_BOTH int narrow_exponent(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

static inline RNG_BOTH double narrow_value(NarrowForm form, uint16_t bits) {
    const unsigned sign = narrow_sign(form), infinity = narrow_infinity(form), size = bits & (sign - 1);
    const unsigned fraction = size & ((1u << form.fraction_bits) - 1), exponent = size >> form.fraction_bits;
    double value;
    if (size >= infinity)
        value = size > infinity || form.finite ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = (double)fraction * narrow_power(narrow_least(form) - form.fraction_bits);
    else
        value = (double)(fraction + (1u << form.fraction_bits)) *
                narrow_power((int)exponent - 1 + narrow_least(form) - form.fraction_bits);
    return bits & sign ? -value : value;
}

/* What is too large becomes infinite, of e4m3 a NaN. */
static inline RNG_BOTH uint16_t narrow_bits(NarrowForm form, double x) {
    const unsigned sign = signbit(x) ? narrow_sign(form) : 0, infinity = narrow_infinity(form);
    if (isnan(x)) return (uint16_t)(sign | infinity | 1u << (form.fraction_bits - 1));
    if (isinf(x)) return (uint16_t)(sign | infinity);
    const int least = narrow_least(form), exponent = narrow_exponent(x), level = exponent > least ? exponent : least;
    if (level > 2 - least) return (uint16_t)(sign | infinity);
    const unsigned digits =
        (unsigned)rint(fabs(x) * narrow_power(form.fraction_bits - level)); /* 2^fraction_bits: the next level */
    const unsigned size = ((unsigned)(level - least) << form.fraction_bits) + digits;
    return (uint16_t)(sign | (size < infinity ? size : infinity));
}

static inline double narrow_largest(NarrowForm form) {
    return narrow_value(form, (uint16_t)(narrow_infinity(form) - 1));
}

/* As many digits as the form has, and no end of the exponents: what is beyond the range is told from it by narrow_end(). */
static inline double narrow_nearest(NarrowForm form, double x) {
    if (!isfinite(x)) return x;
    const int least = narrow_least(form), exponent = narrow_exponent(x),
              place = (exponent > least ? exponent : least) - form.fraction_bits;
    return rint(x * narrow_power(-place)) * narrow_power(place);
}

/* The first number beyond the range, had the form more exponents: 2^16, 2^128, 480, 2^16. */
static inline double narrow_end(NarrowForm form) {
    const int level = 2 - narrow_least(form);
    return form.finite ? ldexp((double)((2 << form.fraction_bits) - 1), level - form.fraction_bits) : ldexp(1, level);
}
