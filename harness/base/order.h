/* order.h - a random order that needs no table: up to 64 neighbours change places, so do up to 64 neighbouring groups of 64, and so
 * on up to the whole. The source of a place, and where a row of any length begins, take a few steps, on the host and on a GPU. */
#pragma once

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDER_BITS = 6, ORDER_GROUP = 1 << ORDER_BITS };

typedef struct Order {
    uint64_t key;
    size_t n;
    int levels; /* 64^levels >= n */
} Order;

static inline RNG_BOTH Order order_open(uint64_t key, size_t n) {
    Order out = {key, n, 1};
    while (n > (size_t)1 << (ORDER_BITS * out.levels)) out.levels++;
    return out;
}

/* The members of a group: places of rows, or groups one level below. */
typedef struct OrderGroup {
    size_t first;  /* member, in the order that was */
    size_t moving; /* members that change places: all that are whole; one that is not stays the last */
    size_t step, shift;
} OrderGroup;

static inline RNG_BOTH OrderGroup order_group(const Order *self, int level, size_t group) {
    const uint64_t primes = UINT64_C(0x65615953494f4743); /* 67, 71, 73, 79, 83, 89, 97, 101: above 64 */
    const uint64_t bits = rng_at(self->key + (uint64_t)level, group);
    const size_t first = group << ORDER_BITS, whole = self->n >> (ORDER_BITS * level);
    const size_t group_size = ORDER_GROUP, left = whole > first ? whole - first : 0, moving = left < group_size ? left : group_size;
    return (OrderGroup){first, moving, (size_t)(primes >> (bits % 8 * 8) & 0xff), (size_t)(bits >> 8 & 0xffff)};
}

static inline RNG_BOTH size_t order_member(const OrderGroup *self, size_t place) {
    if (place >= self->moving) return self->first + place;
    const size_t turned = place * self->step + self->shift;
    return self->first + (self->moving == ORDER_GROUP ? turned % ORDER_GROUP : turned % self->moving);
}

/* The group of the 64 places around i < n. */
static inline RNG_BOTH OrderGroup order_around(const Order *self, size_t i) {
    OrderGroup members = order_group(self, self->levels - 1, 0);
    for (int level = self->levels - 1; level > 0; level--) {
        members = order_group(self, level - 1, order_member(&members, i >> (ORDER_BITS * level)));
        i &= ((size_t)1 << (ORDER_BITS * level)) - 1;
    }
    return members;
}

/* The element that place i < n has. */
static inline RNG_BOTH size_t order_source(const Order *self, size_t i) {
    const OrderGroup members = order_around(self, i);
    return order_member(&members, i % ORDER_GROUP);
}

/* ---- Rows of a column of strings, by its offsets. */

typedef struct OrderedRows {
    Order order;
    const void *offsets; /* n + 1, of the order that was */
    bool wide;           /* they have 64 bits */
} OrderedRows;

static inline RNG_BOTH size_t rows_offset(const OrderedRows *self, size_t row) {
    return self->wide ? (size_t)((const int64_t *)self->offsets)[row] : (size_t)((const int32_t *)self->offsets)[row];
}

/* A row at its place, and those that follow it in its group of 64. */
typedef struct RowPlace {
    OrderGroup group;
    size_t in_group;       /* its place there */
    size_t place, row;     /* its number, and what it was */
    size_t begin, end, is; /* its bytes are from begin to end, and were from `is` on */
} RowPlace;

static inline RNG_BOTH void column_read(const OrderedRows *self, RowPlace *at) {
    at->row = order_member(&at->group, at->in_group);
    at->is = rows_offset(self, at->row);
    at->end = at->begin + (rows_offset(self, at->row + 1) - at->is);
}

/* The row with number `value` or, by bytes, the one that byte `value` is in; there must be one. */
static inline RNG_BOTH RowPlace column_find(const OrderedRows *self, size_t value, bool by_bytes) {
    RowPlace at = {{0, 0, 0, 0}, 0, 0, 0, rows_offset(self, 0), 0, 0};
    const size_t n = self->order.n;
    size_t group = 0;
    for (int level = self->order.levels - 1; level >= 0; level--) {
        const int shift = ORDER_BITS * level;
        at.group = order_group(&self->order, level, group);
        for (at.in_group = 0;; at.in_group++) {
            group = order_member(&at.group, at.in_group);
            const size_t first = group << shift, after = first + ((size_t)1 << shift), end = after < n ? after : n;
            const size_t bytes = rows_offset(self, end) - rows_offset(self, first);
            if (by_bytes ? value < at.begin + bytes : value < at.place + (end - first)) break;
            at.begin += bytes, at.place += end - first;
        }
    }
    column_read(self, &at);
    return at;
}

/* False behind the last row. */
static inline RNG_BOTH bool column_next(const OrderedRows *self, RowPlace *at) {
    if (++at->place >= self->order.n) return false;
    if (at->in_group + 1 == ORDER_GROUP) {
        *at = column_find(self, at->place, false);
    } else {
        at->in_group++, at->begin = at->end;
        column_read(self, at);
    }
    return true;
}
