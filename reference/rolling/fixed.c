/* See fixed.h. */
#include "fixed.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 Uint128;
typedef __int128 Int128;

enum { WORD = 64, TOP = 5 /* words of a dividend that a quotient is taken from; the others only tell whether it is exact */ };

/* |x| = digits 2^exponent. */
typedef struct Digits {
    uint64_t digits;
    int exponent;
} Digits;

static Digits digits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int field = (int)(bits >> 52 & 0x7ff);
    return field == 0 ? (Digits){fraction, -1074} : (Digits){fraction | UINT64_C(1) << 52, field - 1075};
}

int fixed_low_bit(double x) {
    const Digits d = digits_of(x);
    return d.exponent + __builtin_ctzll(d.digits);
}

int fixed_high_bit(double x) {
    const Digits d = digits_of(x);
    return d.exponent + WORD - 1 - __builtin_clzll(d.digits);
}

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
static Digits trimmed(Digits d) {
    const int zeros = __builtin_ctzll(d.digits);
    return (Digits){d.digits >> zeros, d.exponent + zeros};
}

void fixed_add(Fixed *sum, double x, bool negate) {
    if (x == 0) return;
    const Digits d = trimmed(digits_of(x));
    add(sum, d.digits, d.exponent - sum->least, negate != (x < 0));
}

void fixed_add_square(Fixed *sum, double x, bool negate) {
    if (x == 0) return;
    const Digits d = trimmed(digits_of(x));
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

/* The highest words of a quotient, the lowest of them first: quotient 2^exponent, and whether that is less than the exact one. */
typedef struct Quotient {
    uint64_t word[TOP];
    int exponent;
    bool rest;
} Quotient;

static void divide(Quotient *q, uint64_t divisor) {
    uint64_t rest = 0;
    for (int k = TOP; k-- > 0;) {
        const Uint128 dividend = (Uint128)rest << WORD | q->word[k];
        q->word[k] = (uint64_t)(dividend / divisor);
        rest = (uint64_t)(dividend % divisor);
    }
    q->rest = q->rest || rest > 0;
}

static Quotient quotient_of(const Natural *a, int least) {
    Quotient q = {.exponent = least + (a->count - TOP) * WORD};
    for (int k = 0; k < TOP; k++) {
        const int from = a->count - TOP + k;
        q.word[k] = from >= 0 ? a->word[from] : 0;
    }
    for (int k = 0; k < a->count - TOP; k++) q.rest = q.rest || a->word[k] > 0;
    return q;
}

/* Its highest 128 bits, the first of them 1; false if it is 0. */
static bool quotient_top(Quotient *q, Uint128 *top) {
    int k = TOP - 1;
    while (k > 0 && q->word[k] == 0) k--;
    if (q->word[k] == 0) return false;
    const int zeros = __builtin_clzll(q->word[k]);
    const uint64_t next[3] = {q->word[k], k > 0 ? q->word[k - 1] : 0, k > 1 ? q->word[k - 2] : 0};
    *top = (Uint128)next[0] << WORD | next[1];
    if (zeros > 0) *top = *top << zeros | next[2] >> (WORD - zeros);
    q->rest = q->rest || (next[2] << zeros) > 0;
    for (int j = 0; j < k - 2; j++) q->rest = q->rest || q->word[j] > 0;
    q->exponent += (k - 1) * WORD - zeros;
    return true;
}

/* digits 2^exponent; a product with a power of two within the range of doubles, as ldexpl() is slow. */
static long double odd(uint64_t digits, bool rest, int exponent) {
    enum { FAR = 1000 };
    if (exponent < -FAR || exponent > FAR) return ldexpl((long double)(digits | rest), exponent);
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return (long double)(digits | rest) * power;
}

static long double quotient_value(Quotient *q) {
    Uint128 top;
    if (!quotient_top(q, &top)) return 0;
    return odd((uint64_t)(top >> WORD), q->rest || (uint64_t)top > 0, q->exponent + WORD);
}

static long double quotient_root(Quotient *q) {
    Uint128 top;
    if (!quotient_top(q, &top)) return 0;
    if (q->exponent % 2 != 0) {
        q->rest = q->rest || (top & 1);
        top >>= 1;
        q->exponent++;
    }
    const long double about = sqrtl((long double)top);
    uint64_t root = about >= 0x1p64L ? UINT64_MAX : (uint64_t)about;
    while ((Uint128)root * root > top) root--;
    while (root < UINT64_MAX && ((Uint128)root + 1) * ((Uint128)root + 1) <= top) root++;
    return odd(root, q->rest || (Uint128)root * root < top, q->exponent / 2);
}

static int leading_zeros(Uint128 x) {
    return x >> WORD ? __builtin_clzll((uint64_t)(x >> WORD)) : WORD + __builtin_clzll((uint64_t)x);
}

/* The dividend begins with the highest bit, so that the quotient has 64 bits at least and the remainder is beyond them. */
static long double small_mean(const Fixed *sum, uint64_t divisor) {
    const Uint128 bits = small_bits(sum);
    const bool negative = (Int128)bits < 0;
    Uint128 size = negative ? -bits : bits;
    if (size == 0) return 0;
    const int zeros = leading_zeros(size);
    size <<= zeros;
    Uint128 quotient = size;
    if (divisor > 1) quotient /= divisor;
    bool rest = quotient * divisor != size;
    const int more = leading_zeros(quotient);
    quotient <<= more;
    rest = rest || (uint64_t)quotient > 0;
    const long double mean = odd((uint64_t)(quotient >> WORD), rest, sum->least - zeros + WORD - more);
    return negative ? -mean : mean;
}

long double fixed_mean(const Fixed *sum, uint64_t divisor) {
    Natural a;
    if (is_small(sum) && divisor <= UINT64_MAX / 2) return small_mean(sum, divisor);
    const bool negative = natural_from(sum, &a);
    Quotient q = quotient_of(&a, sum->least);
    if (divisor > 1) divide(&q, divisor);
    const long double size = quotient_value(&q);
    return negative ? -size : size;
}

long double fixed_variance(const Fixed *sum, const Fixed *squares, uint64_t n, bool root) {
    Natural a, b;
    natural_from(squares, &a);
    natural_from(sum, &b);
    natural_scale(&a, n);
    natural_subtract_square(&a, &b);
    Quotient q = quotient_of(&a, squares->least);
    if (n <= UINT32_MAX) {
        divide(&q, n * (n - 1));
    } else {
        divide(&q, n);
        divide(&q, n - 1);
    }
    return root ? quotient_root(&q) : quotient_value(&q);
}
