/* See fixed.h. */
#include "fixed.h"

#include <math.h>

typedef unsigned __int128 Uint128;
typedef __int128 Int128;

enum { WORD = 64, TOP = 5 /* words of a dividend that a quotient is taken from; the others only tell whether it is exact */ };

Fixed fixed_zero(int least, int most) {
    Fixed sum = {.words = (most - least + 1 + FIXED_COUNT_BITS) / WORD + 1, .least = least};
    return sum;
}

/* sum += or -= low 2^shift, as bits of the sum. */
static void add_shifted(Fixed *sum, Uint128 part, int shift, bool negate) {
    const int at = shift / WORD, bit = shift % WORD;
    const Uint128 low = part << bit;
    const uint64_t words[3] = {(uint64_t)low, (uint64_t)(low >> WORD), bit == 0 ? 0 : (uint64_t)(part >> (2 * WORD - bit))};
    bool carry = false;
    for (int k = 0; at + k < sum->words && (k < 3 || carry); k++) {
        uint64_t *word = &sum->word[at + k];
        const uint64_t own = k < 3 ? words[k] : 0;
        if (negate) {
            const bool borrowed = __builtin_sub_overflow(*word, own, word);
            carry = __builtin_sub_overflow(*word, (uint64_t)carry, word) || borrowed;
        } else {
            const bool carried = __builtin_add_overflow(*word, own, word);
            carry = __builtin_add_overflow(*word, (uint64_t)carry, word) || carried;
        }
    }
}

/* Most sums have two words at most: one number of the processor's. */
static bool is_small(const Fixed *sum) {
    return sum->words <= 2;
}

static Uint128 small_bits(const Fixed *sum) {
    const uint64_t high = sum->words == 2 ? sum->word[1] : sum->word[0] >> (WORD - 1) ? UINT64_MAX : 0;
    return (Uint128)high << WORD | sum->word[0];
}

static void add_to_small(Fixed *sum, Uint128 part, int shift, bool negate) {
    const Uint128 own = part << shift, bits = small_bits(sum) + (negate ? -own : own);
    sum->word[0] = (uint64_t)bits;
    if (sum->words == 2) sum->word[1] = (uint64_t)(bits >> WORD);
}

static void add(Fixed *sum, Uint128 part, int shift, bool negate) {
    (is_small(sum) ? add_to_small : add_shifted)(sum, part, shift, negate);
}

/* Trailing zeros of x may lie below the sum's range. */
static FixedDigits trimmed(FixedDigits d) {
    const int zeros = __builtin_ctzll(d.digits);
    return (FixedDigits){d.digits >> zeros, d.exponent + zeros};
}

void fixed_add(Fixed *sum, double x, bool negate) {
    if (x == 0) return;
    const FixedDigits d = trimmed(fixed_digits(x));
    add(sum, d.digits, d.exponent - sum->least, negate != (x < 0));
}

void fixed_add_square(Fixed *sum, double x, bool negate) {
    if (x == 0) return;
    const FixedDigits d = trimmed(fixed_digits(x));
    add(sum, (Uint128)d.digits * d.digits, 2 * d.exponent - sum->least, negate);
}

/* A natural number, its lowest word first; the highest is not 0. */
typedef struct Natural {
    int count;
    uint64_t word[FIXED_WORDS];
} Natural;

static void natural_trim(Natural *a) {
    while (a->count > 0 && a->word[a->count - 1] == 0) a->count--;
}

/* The absolute value; returns whether it was negative. */
static bool natural_from(const Fixed *sum, Natural *out) {
    const bool negative = sum->word[sum->words - 1] >> (WORD - 1);
    uint64_t carry = negative;
    out->count = sum->words;
    for (int k = 0; k < sum->words; k++) {
        const uint64_t word = negative ? ~sum->word[k] : sum->word[k];
        out->word[k] = word + carry;
        carry = carry && out->word[k] == 0;
    }
    natural_trim(out);
    return negative;
}

static void natural_scale(Natural *a, uint64_t factor) {
    uint64_t carry = 0;
    for (int k = 0; k < a->count; k++) {
        const Uint128 product = (Uint128)a->word[k] * factor + carry;
        a->word[k] = (uint64_t)product;
        carry = (uint64_t)(product >> WORD);
    }
    if (carry > 0) a->word[a->count++] = carry;
}

/* a -= b^2, which is not larger. */
static void natural_subtract_square(Natural *a, const Natural *b) {
    for (int i = 0; i < b->count; i++) {
        uint64_t carry = 0; /* of the product, and what the subtraction borrows */
        for (int j = 0; i + j < a->count && (j < b->count || carry > 0); j++) {
            const Uint128 product = (Uint128)b->word[i] * (j < b->count ? b->word[j] : 0) + carry;
            carry = (uint64_t)(product >> WORD) + __builtin_sub_overflow(a->word[i + j], (uint64_t)product, &a->word[i + j]);
        }
    }
    natural_trim(a);
}

/* The highest 128 bits of a number, the first of them 1: bits 2^exponent, and whether that is less than the number. */
typedef struct Top {
    Uint128 bits;
    int exponent;
    bool rest;
} Top;

/* Of words of which the lowest is worth 2^least; false if all are 0. */
static bool top_of(const uint64_t *word, int count, int least, Top *out) {
    while (count > 0 && word[count - 1] == 0) count--;
    if (count == 0) return false;
    const int zeros = __builtin_clzll(word[count - 1]);
    const uint64_t next[2] = {count > 1 ? word[count - 2] : 0, count > 2 ? word[count - 3] : 0};
    *out = (Top){.bits = (Uint128)word[count - 1] << WORD | next[0], .exponent = least + (count - 2) * WORD - zeros};
    if (zeros > 0) out->bits = out->bits << zeros | next[1] >> (WORD - zeros);
    out->rest = (next[1] << zeros) > 0;
    for (int k = 0; k < count - 3; k++) out->rest = out->rest || word[k] > 0;
    return true;
}

/* 2^exponent, a normal number. */
static double power_of_two(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* digits 2^exponent; a product with a power of two within the range of doubles, as ldexpl() is slow. */
static long double odd(uint64_t digits, bool rest, int exponent) {
    enum { FAR = 1000 };
    if (exponent < -FAR || exponent > FAR) return ldexpl((long double)(digits | rest), exponent);
    return (long double)(digits | rest) * power_of_two(exponent);
}

static int leading_zeros(Uint128 x) {
    return x >> WORD ? __builtin_clzll((uint64_t)(x >> WORD)) : WORD + __builtin_clzll((uint64_t)x);
}

/* The dividend begins with the highest bit, so that the quotient has 64 bits at least and the remainder is beyond them. */
static long double top_over(const Top *top, uint64_t divisor) {
    Uint128 quotient = top->bits;
    if (divisor > 1) quotient /= divisor;
    const bool rest = top->rest || quotient * divisor != top->bits;
    const int more = leading_zeros(quotient);
    quotient <<= more;
    return odd((uint64_t)(quotient >> WORD), rest || (uint64_t)quotient > 0, top->exponent + WORD - more);
}

static long double top_root(Top *top) {
    if (top->exponent % 2 != 0) {
        top->rest = top->rest || (top->bits & 1);
        top->bits >>= 1;
        top->exponent++;
    }
    const long double about = sqrtl((long double)top->bits);
    uint64_t root = about >= 0x1p64L ? UINT64_MAX : (uint64_t)about;
    while ((Uint128)root * root > top->bits) root--;
    while (root < UINT64_MAX && ((Uint128)root + 1) * ((Uint128)root + 1) <= top->bits) root++;
    return odd(root, top->rest || (Uint128)root * root < top->bits, top->exponent / 2);
}

static long double small_mean(const Fixed *sum, uint64_t divisor) {
    const Uint128 bits = small_bits(sum);
    const bool negative = (Int128)bits < 0;
    const Uint128 size = negative ? -bits : bits;
    if (size == 0) return 0;
    const int zeros = leading_zeros(size);
    const long double mean = top_over(&(Top){.bits = size << zeros, .exponent = sum->least - zeros}, divisor);
    return negative ? -mean : mean;
}

long double fixed_mean(const Fixed *sum, uint64_t divisor) {
    if (is_small(sum)) return small_mean(sum, divisor);
    Natural a;
    Top top;
    const bool negative = natural_from(sum, &a);
    if (!top_of(a.word, a.count, sum->least, &top)) return 0;
    const long double size = top_over(&top, divisor);
    return negative ? -size : size;
}

/* A quotient in long double errs by a few units in its last place, so it rounds to the right double unless it lies near the middle
 * between two of them: where its last 11 of 64 bits, those that a double does not have, are near 0x400. */
double fixed_mean_rounded(const Fixed *sum, uint64_t divisor) {
    enum { FAR = 800, MIDDLE = 0x400, NEAR = 8 };
    if (!is_small(sum) || sum->least < -FAR || sum->least > FAR) return (double)fixed_mean(sum, divisor);
    const Uint128 bits = small_bits(sum);
    const long double high = (long double)(int64_t)(bits >> WORD), low = (long double)(uint64_t)bits;
    const long double about = (high * 0x1p64L + low) / (long double)divisor;
    uint64_t digits;
    memcpy(&digits, &about, sizeof digits);
    if ((digits & 0x7ff) - (MIDDLE - NEAR) <= 2 * NEAR) return (double)fixed_mean(sum, divisor);
    return (double)about * power_of_two(sum->least);
}

/* The highest words of a quotient, the lowest of them first: quotient 2^exponent, and whether that is less than the exact one. */
typedef struct Quotient {
    uint64_t word[TOP];
    int exponent;
    bool rest;
} Quotient;

static Quotient quotient_of(const Natural *a, int least) {
    Quotient q = {.exponent = least + (a->count - TOP) * WORD};
    for (int k = 0; k < TOP; k++) {
        const int from = a->count - TOP + k;
        q.word[k] = from >= 0 ? a->word[from] : 0;
    }
    for (int k = 0; k < a->count - TOP; k++) q.rest = q.rest || a->word[k] > 0;
    return q;
}

static void divide(Quotient *q, uint64_t divisor) {
    uint64_t rest = 0;
    for (int k = TOP; k-- > 0;) {
        const Uint128 dividend = (Uint128)rest << WORD | q->word[k];
        q->word[k] = (uint64_t)(dividend / divisor);
        rest = (uint64_t)(dividend % divisor);
    }
    q->rest = q->rest || rest > 0;
}

long double fixed_variance(const Fixed *sum, const Fixed *squares, uint64_t n, bool root) {
    Natural a, b;
    Top top;
    natural_from(squares, &a);
    natural_from(sum, &b);
    natural_scale(&a, n);
    natural_subtract_square(&a, &b);
    const bool one_word = n <= UINT32_MAX; /* holds n (n - 1) */
    if (one_word && !root) return top_of(a.word, a.count, squares->least, &top) ? top_over(&top, n * (n - 1)) : 0;
    Quotient q = quotient_of(&a, squares->least);
    divide(&q, one_word ? n * (n - 1) : n);
    if (!one_word) divide(&q, n - 1);
    if (!top_of(q.word, TOP, q.exponent, &top)) return 0;
    top.rest = top.rest || q.rest;
    return root ? top_root(&top) : top_over(&top, 1);
}
