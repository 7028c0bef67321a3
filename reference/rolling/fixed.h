/* fixed.h - sums of doubles and of their squares without any rounding: fixed-point numbers as long as the data need. What enters
 * and leaves such a sum leaves no trace, so a window can slide; and a result is rounded once, from the exact value.
 *
 * The exponents of doubles span 2,098 bits, those of their squares twice as many; 2^40 terms add 40, and a factor of 2^40 as many
 * again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FIXED_WORDS = 70, FIXED_COUNT_BITS = 41 /* terms of a sum, and its sign */ };

/* Two's complement; bit 0 is worth 2^least. */
typedef struct Fixed {
    int words, least;
    uint64_t word[FIXED_WORDS];
} Fixed;

/* |x| = digits 2^exponent; x finite. */
typedef struct FixedDigits {
    uint64_t digits;
    int exponent;
} FixedDigits;

static inline FixedDigits fixed_digits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int field = (int)(bits >> 52 & 0x7ff);
    return field == 0 ? (FixedDigits){fraction, -1074} : (FixedDigits){fraction | UINT64_C(1) << 52, field - 1075};
}
/* The exponents of the lowest and the highest bit of x, finite and not 0. */
static inline int fixed_low_bit(double x) {
    const FixedDigits d = fixed_digits(x);
    return d.exponent + __builtin_ctzll(d.digits);
}
static inline int fixed_high_bit(double x) {
    const FixedDigits d = fixed_digits(x);
    return d.exponent + 63 - __builtin_clzll(d.digits);
}

/* Zero, with room for 2^40 numbers whose bits are worth 2^least to 2^most. */
Fixed fixed_zero(int least, int most);
/* sum += x or, if negate, sum -= x; x finite, its bits within the range of the sum. */
void fixed_add(Fixed *sum, double x, bool negate);
/* sum += units 2^least, for a sum that has three words at most. */
static inline void fixed_add_units(Fixed *sum, __int128 units) {
    const uint64_t own[] = {(uint64_t)units, (uint64_t)(units >> 64), units < 0 ? UINT64_MAX : 0};
    uint64_t carry = 0;
    for (int k = 0; k < 3 && k < sum->words; k++) {
        const unsigned __int128 word = (unsigned __int128)sum->word[k] + own[k] + carry;
        sum->word[k] = (uint64_t)word;
        carry = (uint64_t)(word >> 64);
    }
}
/* The same with x^2. The sum's range is twice that of x, as an exponent. */
void fixed_add_square(Fixed *sum, double x, bool negate);

/* sum / divisor. This and the next are rounded to odd in 64 bits: rounding them to double is rounding the exact value. */
long double fixed_mean(const Fixed *sum, uint64_t divisor);
/* fixed_mean(), rounded to double: faster. */
double fixed_mean_rounded(const Fixed *sum, uint64_t divisor);
/* (n squares - sum^2) / (n (n - 1)) or its root, for n > 1 numbers with these exact sums: their variance. */
long double fixed_variance(const Fixed *sum, const Fixed *squares, uint64_t n, bool root);
