#include "base/vary.h"

#include "base/numbers.h"
#include "base/shares.h"

#include <math.h>
#include <string.h>

static const size_t SHARE_BYTES = (size_t)1 << 22,
                    COLUMN_BYTES = (size_t)1 << 19; /* by a thread at least; of strings, which are slower */
static const uint64_t ORDERS = 1 << 20;             /* of keys: no input has such a number */
static const size_t EXTREMES = (size_t)1 << 20;     /* elements that are looked at for the largest and the least */

Vary vary_open(VaryHow how, uint64_t key, size_t n) {
    const uint32_t unit = how == VARY_LEVELS ? 4 : 1;
    Vary out = {.how = how, .part_key = rng_at(key, 0), .element_key = rng_at(key, 1)};
    size_t steps = 0;
    out.rows.order = order_open(out.part_key, n);
    out.value = vary_constant(out.part_key, out.element_key);
    out.part_length = n / VARY_PARTS < VARY_PART_LEAST ? VARY_PART_LEAST : n / VARY_PARTS + 1;
    for (size_t p = 0; p < VARY_PARTS; p++) {
        out.stride[p] = unit * (8 + (uint32_t)(rng_at(out.part_key, p) % VARY_STRIDES));
        out.before[p] = steps;
        steps += out.part_length / out.stride[p] + 1;
    }
    return out;
}

int vary_offsets(VaryHow how, int input) {
    return !vary_moves_rows(how) ? -1 : how == VARY_ROW_OFFSETS ? input : how == VARY_ROW_BITS ? input - 2 : input - 1;
}

Vary vary_input(VaryHow how, uint64_t key, int input, const Array *first) {
    const size_t n = array_count(&first[input]);
    const Array *offsets = vary_moves_rows(how) ? &first[vary_offsets(how, input)] : NULL;
    Vary out = vary_open(how, rng_at(key, (uint64_t)input), n);
    if (offsets || how == VARY_SHUFFLE)
        out.rows.order =
            order_open(rng_at(~key, ORDERS + (offsets ? 0 : 2 * (uint64_t)(input + 1))), offsets ? array_count(offsets) - 1 : n);
    if (offsets) out.rows.offsets = offsets->data, out.rows.wide = offsets->dtype == DTYPE_I64;
    return out;
}

/* As a GPU does it: those of narrow types are made of their values. */
static inline __attribute__((always_inline)) void copy_number(DType dtype, void *to, size_t k, const void *from, size_t source) {
    if (dtype == DTYPE_F64)
        ((uint64_t *)to)[k] = ((const uint64_t *)from)[source];
    else if (dtype == DTYPE_F32)
        ((uint32_t *)to)[k] = ((const uint32_t *)from)[source];
    else
        number_set(dtype, to, k, number_in(dtype, from, source));
}

/* Elements [i, i + count) of VARY_MIX and VARY_SHUFFLE, in one word of random bits. Here and below all is inlined where it is
 * called, so that no element asks for its type. */
static inline __attribute__((always_inline)) void mix_word(const Vary *self, DType dtype, size_t i, size_t count, const void *a,
                                                           const void *b, void *to) {
    const uint64_t bits = vary_bits(self, i / VARY_BITS);
    const bool shuffles = self->how == VARY_SHUFFLE;
    const OrderGroup group = shuffles ? order_around(&self->rows.order, i) : (OrderGroup){0};
    const void *const sets[] = {a, b}; /* a random bit chooses without a jump, which would be guessed wrongly every other time */
    for (size_t k = i; k < i + count; k++) {
        const size_t source = shuffles ? order_member(&group, k % ORDER_GROUP) : k, bit = bits >> k % VARY_BITS & 1;
        const double x = number_in(dtype, a, k), y = number_in(dtype, shuffles ? sets[bit] : b, source);
        if (x - x == 0 && y - y == 0)
            copy_number(dtype, to, k, sets[bit], source);
        else
            copy_number(dtype, to, k, a, k);
    }
}

static inline __attribute__((always_inline)) void mix_numbers(const Vary *self, DType dtype, size_t begin, size_t end,
                                                              const void *a, const void *b, void *to) {
    for (size_t i = begin, stop; i < end; i = stop) {
        stop = i - i % VARY_BITS + VARY_BITS < end ? i - i % VARY_BITS + VARY_BITS : end;
        mix_word(self, dtype, i, stop - i, a, b, to);
    }
}

/* Where the elements end that have as many steps before them as element i. */
static size_t run_end(const Vary *self, size_t i, size_t end) {
    const size_t part = i / self->part_length, part_end = (part + 1) * self->part_length, stride = self->stride[part];
    const size_t from = i - i % self->part_length % stride, place = from + rng_at(self->element_key, from) % stride;
    const size_t next = i < place ? place : from + stride, in_part = next < part_end ? next : part_end;
    return in_part < end ? in_part : end;
}

static inline __attribute__((always_inline)) void step_numbers(const Vary *self, DType dtype, size_t begin, size_t end,
                                                               const void *a, void *to) {
    for (size_t i = begin, stop; i < end; i = stop) {
        stop = self->how == VARY_VALUE ? end : run_end(self, i, end);
        const size_t steps = self->how == VARY_STEPS ? vary_steps(self, i) : 0;
        const double factor = self->how == VARY_LEVELS ? vary_level(self, i) : self->how == VARY_FACTORS ? vary_factor(self, i) : 1;
        for (size_t k = i; k < stop; k++)
            number_set(dtype, to, k,
                       self->how == VARY_VALUE   ? self->value
                       : self->how == VARY_STEPS ? (double)(k + steps)
                                                 : number_in(dtype, a, k) * factor);
    }
}

static inline __attribute__((always_inline)) void vary_numbers(const Vary *self, DType dtype, size_t begin, size_t end,
                                                               const void *a, const void *b, void *to) {
    if (vary_uses_both(self->how))
        mix_numbers(self, dtype, begin, end, a, b, to);
    else
        step_numbers(self, dtype, begin, end, a, to);
}

enum { TURNED_AT_ONCE = 64 };

/* vary_turned() of bytes from a multiple of 64 on, without a jump. */
static void turn_block(uint64_t key, size_t i, unsigned char *to) {
    unsigned char turn[TURNED_AT_ONCE];
    for (size_t k = 0; k < TURNED_AT_ONCE; k += 8) {
        const uint64_t turns = rng_at(key, (i + k) / 8);
        for (size_t byte = 0; byte < 8; byte++) turn[k + byte] = (unsigned char)(turns >> 8 * byte);
    }
#pragma omp simd
    for (size_t k = 0; k < TURNED_AT_ONCE; k++) {
        const unsigned char by = turn[k] % 26, at = (unsigned char)((to[k] | 0x20) - 'a');
        const unsigned char step = (unsigned char)(at + by < 26 ? by : by - 26);
        to[k] = (unsigned char)(to[k] + (at < 26 ? step : 0));
    }
}

/* Letters at their places. */
static void turn_letters(const Vary *self, size_t begin, size_t end, unsigned char *to) {
    const size_t from = (begin + TURNED_AT_ONCE - 1) / TURNED_AT_ONCE * TURNED_AT_ONCE,
                 last = end / TURNED_AT_ONCE * TURNED_AT_ONCE;
    for (size_t i = from; i < last; i += TURNED_AT_ONCE) turn_block(self->element_key, i, to + i);
    vary_bytes(self, true, begin, from < end ? from : end, to + begin, to);
    if (last >= from) vary_bytes(self, true, last, end, to + last, to);
}

/* The bytes move first; each is then turned where it is. */
static void vary_column(const Vary *self, size_t begin, size_t end, const void *a, void *to) {
    Vary moved = *self;
    if (self->how == VARY_ROW_LETTERS) moved.how = VARY_ROW_BYTES;
    vary_rows(&moved, begin, end, a, to);
    if (self->how == VARY_ROW_LETTERS) turn_letters(self, begin, end, to);
}

static void copy(size_t size, size_t begin, size_t end, const void *a, void *to) {
    if (to != a && end > begin) memcpy((char *)to + begin * size, (const char *)a + begin * size, (end - begin) * size);
}

void vary_some(const Vary *self, DType dtype, size_t begin, size_t end, const void *a, const void *b, void *to) {
    if (self->how == VARY_LETTERS) {
        copy(1, begin, end, a, to);
        turn_letters(self, begin, end, to);
    } else if (vary_moves_rows(self->how))
        vary_column(self, begin, end, a, to);
    else if (self->how != VARY_NOTHING && dtype == DTYPE_F32)
        vary_numbers(self, DTYPE_F32, begin, end, a, b, to);
    else if (self->how != VARY_NOTHING && dtype == DTYPE_F64)
        vary_numbers(self, DTYPE_F64, begin, end, a, b, to);
    else if (self->how != VARY_NOTHING && dtype_is_real(dtype))
        vary_numbers(self, dtype, begin, end, a, b, to);
    else
        copy(dtype_size(dtype), begin, end, a, to);
}

typedef struct Task {
    Vary how;
    DType dtype;
    const void *a, *b;
    void *to;
} Task;

static void vary_share(void *context, size_t begin, size_t end) {
    const Task *task = context;
    vary_some(&task->how, task->dtype, begin, end, task->a, task->b, task->to);
}

void vary_all(const Vary *self, DType dtype, size_t n, const void *a, const void *b, void *to) {
    Task task = {*self, dtype, a, b, to};
    shares_run(n, (vary_moves_rows(self->how) ? COLUMN_BYTES : SHARE_BYTES) / dtype_size(dtype), vary_share, &task);
}

/* ---- Between two calls of a sample. */

/* Of a ramp: where the step of 2 lies that is near element i; else i. n: nowhere. */
static size_t place_near(const Vary *self, size_t i, size_t n) {
    if (self->how != VARY_STEPS) return i;
    const size_t part = i / self->part_length, stride = self->stride[part], from = i - i % self->part_length % stride;
    const size_t step = from + rng_at(self->element_key, from) % stride;
    return step < n && step / self->part_length == part ? step : n;
}

/* What element i is in no state 0. */
static double other_number(const Vary *self, size_t i, double a, double b) {
    switch (self->how) {
    case VARY_MIX:
        return a - a == 0 && b - b == 0 && !vary_takes(vary_bits(self, i / VARY_BITS), i, a, b) ? b : a;
    case VARY_VALUE:
        return vary_constant(self->element_key, self->part_key);
    case VARY_STEPS:
        return vary_number(self, i, a) - 1;
    case VARY_LEVELS: {
        const unsigned level = (unsigned)(64 * (vary_level(self, i) - 1));
        return a * (1 + (double)(level % 2 ? level + 1 : level - 1) / 64);
    }
    default:
        return a * (vary_factor(self, i) + 0x1p-6);
    }
}

static double read_element(const Rewriting *self, const void *from, size_t i) {
    return self->dtype == DTYPE_U8 ? (double)((const unsigned char *)from)[i] : number_in(self->dtype, from, i);
}

static void write_element(DType dtype, void *to, size_t i, double value) {
    if (dtype == DTYPE_U8)
        ((unsigned char *)to)[i] = (unsigned char)value;
    else
        number_set(dtype, to, i, value);
}

static size_t rewritten_place(const Rewriting *self, size_t state, int k) {
    if (vary_moves_rows(self->how.how) && self->how.how != VARY_ROW_LETTERS) return self->n; /* as they are */
    return place_near(&self->how, vary_place(self->how.element_key, state, k, self->n), self->n);
}

/* Element i in state 0, which `element` has room for. */
static double first_value(const Rewriting *self, size_t i, void *element) {
    void *first = (void *)((uintptr_t)element - i * dtype_size(self->dtype)); /* where element 0 would be */
    vary_some(&self->how, self->dtype, i, i + 1, self->a, self->b, first);
    return read_element(self, element, 0);
}

static unsigned char next_letter(unsigned char c) {
    return c == 'z' || c == 'Z' ? c - 25 : (c >= 'a' && c < 'z') || (c >= 'A' && c < 'Z') ? c + 1 : c;
}

/* k-th of a state. Numbers that are drawn alike become extreme: most others decide no maximum. */
static double rewritten_value(const Rewriting *self, size_t i, int k) {
    _Alignas(uint64_t) unsigned char element[sizeof(uint64_t)];
    const VaryHow how = self->how.how;
    if (how == VARY_LETTERS || how == VARY_ROW_LETTERS) return next_letter((unsigned char)first_value(self, i, element));
    const double a = read_element(self, self->a, i);
    if (how != VARY_SHUFFLE) return other_number(&self->how, i, a, how == VARY_MIX ? read_element(self, self->b, i) : a);
    return a - a != 0 ? a : self->extreme[k % 2];
}

void vary_extremes(DType dtype, const void *a, size_t n, double extreme[2]) {
    const size_t step = n / EXTREMES + 1;
    extreme[0] = -INFINITY, extreme[1] = INFINITY;
    for (size_t i = 0; i < n; i += step) {
        const double x = number_in(dtype, a, i);
        if (x - x != 0) continue;
        if (x > extreme[0]) extreme[0] = x;
        if (x < extreme[1]) extreme[1] = x;
    }
}

void vary_rewrite(Rewriting *self, size_t state) {
    while (self->changed > 0) {
        const int k = --self->changed;
        write_element(self->dtype, self->to, self->place[k], self->was[k]);
    }
    for (int k = 0; k < VARY_PLACES && state > 0; k++) {
        const size_t i = rewritten_place(self, state, k);
        if (i >= self->n) continue;
        self->place[self->changed] = i;
        self->was[self->changed++] = read_element(self, self->to, i);
        write_element(self->dtype, self->to, i, rewritten_value(self, i, k));
    }
}

/* k: what it is k-th of a state; negative: back to what it is in state 0. */
static Patch patch_of(const Rewriting *self, size_t i, int k) {
    const size_t size = dtype_size(self->dtype);
    _Alignas(uint64_t) unsigned char element[sizeof(uint64_t)] = {0};
    Patch out = {0};
    if (i >= self->n) return out;
    if (k < 0)
        (void)first_value(self, i, element);
    else
        write_element(self->dtype, element, 0, rewritten_value(self, i, k));
    out = (Patch){.to = (char *)self->to + i * size, .size = size};
    memcpy(&out.bits, element, sizeof out.bits);
    return out;
}

void vary_patches(const Rewriting *self, size_t state, Patch out[VARY_PATCHES]) {
    size_t now[VARY_PLACES];
    for (int k = 0; k < VARY_PLACES; k++) {
        now[k] = state > 0 ? rewritten_place(self, state, k) : self->n;
        out[k] = patch_of(self, now[k], k);
    }
    for (int k = 0; k < VARY_PLACES; k++) {
        size_t before = rewritten_place(self, state + 1, k);
        for (int j = 0; j < VARY_PLACES; j++)
            if (before == now[j]) before = self->n;
        out[VARY_PLACES + k] = patch_of(self, before, -1);
    }
}
