/* vary.h - inputs of a timed call: data of its own for each, made element by element from a key and one or two sets of the case, so
 * that the host and a GPU make the same. NaN and infinities keep their places, and the scale stays. */
#pragma once

#include "base/array.h"
#include "base/order.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__BEGIN_DECLS

/* How the elements of an input become others, from those of the first set and of the second. verify/families.h says which a family
 * has. */
typedef enum VaryHow {
    VARY_NOTHING, /* they are those of the first set */
    VARY_MIX,     /* each is that of either set, by a random bit */
    VARY_VALUE,   /* constant: one value everywhere, which the key chooses */
    VARY_STEPS,   /* ramp: steps of 1, and of 2 once in 8 to 32 elements; whole numbers that ascend, up to 1.125 n */
    VARY_LEVELS,  /* ones: times 1 + m / 64, 1 <= m <= 16, one level up or down in 32 to 128 elements; sums stay as exact */
    VARY_FACTORS, /* real:NAME: times 1 + d, d < 1/32 + 2^-12, the 2^-12 drawn for each 8 to 32 elements, the rest for n / 64 */
    VARY_LETTERS, /* text: ASCII letters become others of the same case */
    VARY_SHUFFLE, /* as VARY_MIX, of numbers that are all drawn alike: at another place too */
    /* The arrays of a column of strings, whose rows come in another order, for all columns of a call the same: */
    VARY_ROW_OFFSETS,
    VARY_ROW_BYTES,
    VARY_ROW_LETTERS, /* the same, and letters are others */
    VARY_ROW_BITS,    /* the validity */
    VARY_COUNT
} VaryHow;

enum { VARY_PARTS = 64, VARY_PART_LEAST = 256, VARY_STRIDES = 25, VARY_BITS = 64 };

/* The array has up to 64 parts, each with its own draw, so that sums over many elements differ too: draws of single elements would
 * cancel in them. */
typedef struct Vary {
    VaryHow how;
    uint64_t part_key, element_key;
    double value; /* of VARY_VALUE */
    size_t part_length;
    uint32_t stride[VARY_PARTS]; /* of each part: elements to a step */
    size_t before[VARY_PARTS];   /* and how many steps lie before it */
    OrderedRows rows;            /* its order is also that of VARY_SHUFFLE */
} Vary;

/* For an array of n elements. */
Vary vary_open(VaryHow how, uint64_t key, size_t n);
/* For input number `input` of a timed call by the call's key. first: all inputs of the call; of those that have offsets the data of
 * the first set, where the elements are made: on the host or on the device. */
Vary vary_input(VaryHow how, uint64_t key, int input, const Array *first);
/* The array with the offsets of the column that input number `input` belongs to; -1: it has none. Offsets, bytes and validity of a
 * column follow each other. */
int vary_offsets(VaryHow how, int input);
/* Elements [begin, end) of an array on the host, of floating-point numbers or, for VARY_LETTERS, u8; a, b, to: where element 0 of
 * each set and of the result is. b is read by VARY_MIX and VARY_SHUFFLE alone; to may be a, but where the order is another. */
void vary_some(const Vary *self, DType dtype, size_t begin, size_t end, const void *a, const void *b, void *to);
/* All elements, on all cores where they are many. */
void vary_all(const Vary *self, DType dtype, size_t n, const void *a, const void *b, void *to);

/* "constant": an awkward value. */
static inline double vary_constant(uint64_t one, uint64_t other) {
    return 0.1 * (double)(5 * (one % 199) + 1 + (other & 3));
}

/* ---- Between two calls of a sample. */

/* An input of a sample, so that a call does not find what the call before it found: in state 0 it is as vary_all() makes it; in any
 * other VARY_PLACES elements, at places of that state's own, have another value of the same kind. Ramps go on ascending. */
enum { VARY_PLACES = 2 };
typedef struct Rewriting {
    Vary how;
    DType dtype; /* of floating-point numbers, or u8 */
    size_t n;
    const void *a, *b; /* the two sets */
    void *to;          /* in state 0 at first */
    double extreme[2]; /* of VARY_SHUFFLE: the largest and the least number, which decide windows, or nearly these */
    /* What is different from state 0, and what it was. */
    int changed;
    size_t place[VARY_PLACES];
    double was[VARY_PLACES];
} Rewriting;

void vary_rewrite(Rewriting *self, size_t state);
/* Of n numbers, many of which are looked at. */
void vary_extremes(DType dtype, const void *a, size_t n, double extreme[2]);

/* An element to be written; size 0: none. */
typedef struct Patch {
    void *to;
    uint64_t bits; /* its first `size` bytes */
    size_t size;
} Patch;

/* For memory that only a kernel can write: what brings the input from state + 1 into `state`, each element once, in any order. The
 * two sets are on the host, `to` is never read. */
enum { VARY_PATCHES = 2 * VARY_PLACES };
void vary_patches(const Rewriting *self, size_t state, Patch out[VARY_PATCHES]);

/* Place k < VARY_PLACES of a state, below n. */
static inline size_t vary_place(uint64_t key, size_t state, int k, size_t n) {
    const uint64_t bits = rng_at(~key, state), turned = k ? bits << 16 * k | bits >> (64 - 16 * k) : bits;
    return (size_t)((double)(turned >> 12) * 0x1p-52 * (double)n);
}

/* ---- One element. */

/* Steps up to element i: one in every stride, each at a place of its own. */
static inline RNG_BOTH size_t vary_steps(const Vary *self, size_t i) {
    const size_t part = i / self->part_length, stride = self->stride[part], at = i % self->part_length;
    const size_t place = rng_at(self->element_key, i - at % stride) % stride;
    return self->before[part] + at / stride + (at % stride >= place);
}

/* 1 + m / 64: up and down by one at each step, from a level of the part's own. */
static inline RNG_BOTH double vary_level(const Vary *self, size_t i) {
    const size_t levels = 8;
    const size_t turn = (vary_steps(self, i) + self->part_key) % (2 * levels), up = turn < levels ? turn : 2 * levels - turn;
    const size_t base = 1 + rng_at(self->part_key, VARY_PARTS + i / self->part_length) % levels;
    return 1 + (double)(base + up) / 64;
}

static inline RNG_BOTH double vary_factor(const Vary *self, size_t i) {
    return 1 + rng_uniform(self->part_key, i / self->part_length) / 32 +
           rng_uniform(self->element_key, vary_steps(self, i)) * 0x1p-12;
}

/* The bits of elements 64 k to 64 k + 63. */
static inline RNG_BOTH uint64_t vary_bits(const Vary *self, size_t k) {
    return rng_at(self->element_key, k);
}

/* All but VARY_MIX, VARY_SHUFFLE and text. */
static inline RNG_BOTH double vary_number(const Vary *self, size_t i, double x) {
    switch (self->how) {
    case VARY_VALUE:
        return self->value;
    case VARY_STEPS:
        return (double)(i + vary_steps(self, i));
    case VARY_LEVELS:
        return x * vary_level(self, i);
    case VARY_FACTORS:
        return x * vary_factor(self, i);
    default:
        return x;
    }
}

/* x - x is 0 for finite numbers alone. */
static inline RNG_BOTH bool vary_takes(uint64_t bits, size_t i, double a, double b) {
    return (bits >> i % VARY_BITS & 1) != 0 && a - a == 0 && b - b == 0;
}

/* VARY_SHUFFLE: x is element i of the first set, y the one at another place of either set that bit i chooses. */
static inline RNG_BOTH double vary_shuffled(double x, double y) {
    return x - x == 0 && y - y == 0 ? y : x;
}

/* c at place i; turns: rng_at(element_key, i / 8). */
static inline RNG_BOTH unsigned char vary_turned(uint64_t turns, size_t i, unsigned char c) {
    const unsigned turn = (unsigned)(turns >> i % 8 * 8 & 0xff) % 26, at = (c | 0x20u) - 'a', to = at + turn;
    return at < 26 ? (unsigned char)(c + turn - (to < 26 ? 0 : 26)) : c;
}

/* Bytes [begin, end), each turned if `letters`; a[0] is that of place begin. */
static inline RNG_BOTH void vary_bytes(const Vary *self, bool letters, size_t begin, size_t end, const unsigned char *a,
                                       unsigned char *to) {
    uint64_t turns = 0;
    for (size_t i = begin; i < end && letters; i++) {
        if (i == begin || i % 8 == 0) turns = rng_at(self->element_key, i / 8);
        to[i] = vary_turned(turns, i, a[i - begin]);
    }
    if (!letters && end > begin) memcpy(to + begin, a, end - begin);
}

static inline bool vary_uses_both(VaryHow how) {
    return how == VARY_MIX || how == VARY_SHUFFLE;
}

/* Are the elements in another order, so that each is made from anywhere? */
static inline RNG_BOTH bool vary_moves_rows(VaryHow how) {
    return how >= VARY_ROW_OFFSETS;
}

static inline RNG_BOTH void vary_row_offsets(const OrderedRows *rows, size_t begin, size_t end, void *to) {
    const size_t n = rows->order.n;
    RowPlace at;
    memset(&at, 0, sizeof at); /* column_next() reads what some compilers cannot see to be set */
    for (size_t i = begin; i < end; i++) {
        if (i == begin && i < n)
            at = column_find(rows, i, false);
        else if (i < n)
            column_next(rows, &at);
        const size_t offset = i < n ? at.begin : rows_offset(rows, n);
        if (rows->wide)
            ((int64_t *)to)[i] = (int64_t)offset;
        else
            ((int32_t *)to)[i] = (int32_t)offset;
    }
}

static inline RNG_BOTH void vary_row_bytes(const Vary *self, size_t begin, size_t end, const unsigned char *a, unsigned char *to) {
    const OrderedRows *rows = &self->rows;
    const size_t first = rows_offset(rows, 0), last = rows_offset(rows, rows->order.n);
    RowPlace at;
    bool found = false;
    for (size_t i = begin, stop = begin; i < end; i = stop) {
        size_t from = i; /* what no row owns stays */
        stop = i < first && first < end ? first : end;
        if (i >= first && i < last) {
            if (!found) at = column_find(rows, i, true), found = true;
            while (i >= at.end) column_next(rows, &at);
            from = at.is + (i - at.begin), stop = at.end < end ? at.end : end;
        }
        vary_bytes(self, self->how == VARY_ROW_LETTERS, i, stop, a + from, to);
    }
}

static inline RNG_BOTH void vary_row_bits(const OrderedRows *rows, size_t begin, size_t end, const unsigned char *a,
                                          unsigned char *to) {
    const size_t n = rows->order.n;
    for (size_t i = begin; i < end; i++) {
        unsigned bits = 0;
        for (unsigned k = 0; k < 8; k++) {
            const size_t row = 8 * i + k, from = row < n ? order_source(&rows->order, row) : row; /* what is no row stays */
            bits |= (unsigned)(a[from / 8] >> from % 8 & 1) << k;
        }
        to[i] = (unsigned char)bits;
    }
}

/* Elements [begin, end) of an array of a column. */
static inline RNG_BOTH void vary_rows(const Vary *self, size_t begin, size_t end, const void *a, void *to) {
    const unsigned char *bytes = (const unsigned char *)a;
    if (self->how == VARY_ROW_OFFSETS)
        vary_row_offsets(&self->rows, begin, end, to);
    else if (self->how == VARY_ROW_BITS)
        vary_row_bits(&self->rows, begin, end, bytes, (unsigned char *)to);
    else
        vary_row_bytes(self, begin, end, bytes, (unsigned char *)to);
}

__END_DECLS
