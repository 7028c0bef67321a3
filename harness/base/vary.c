#include "base/vary.h"

#include "base/shares.h"

#include <string.h>

static const size_t SHARE_BYTES = (size_t)1 << 22; /* by a thread at least */

Vary vary_open(VaryHow how, uint64_t key, size_t n) {
    const uint32_t unit = how == VARY_LEVELS ? 4 : 1;
    Vary out = {.how = how, .kept = SIZE_MAX, .part_key = rng_at(key, 0), .element_key = rng_at(key, 1)};
    size_t steps = 0;
    out.value = vary_constant(out.part_key, out.element_key);
    out.part_length = n / VARY_PARTS < VARY_PART_LEAST ? VARY_PART_LEAST : n / VARY_PARTS + 1;
    for (size_t p = 0; p < VARY_PARTS; p++) {
        out.stride[p] = unit * (8 + (uint32_t)(rng_at(out.part_key, p) % VARY_STRIDES));
        out.before[p] = steps;
        steps += out.part_length / out.stride[p] + 1;
    }
    return out;
}

Vary vary_input(VaryHow how, uint64_t key, int input, size_t n, bool almost) {
    Vary out = vary_open(how, rng_at(key, (uint64_t)input), n);
    if (almost && n > 0) out.kept = (size_t)(rng_at(~key, (uint64_t)input) % n) / VARY_BITS * VARY_BITS;
    return out;
}

static void vary_f32(const Vary *self, size_t begin, size_t end, const float *a, const float *b, float *to) {
    uint64_t bits = vary_bits(self, begin / VARY_BITS);
    for (size_t i = begin; i < end; i++) {
        if (self->how != VARY_MIX) {
            to[i] = (float)vary_number(self, i, a[i]);
            continue;
        }
        if (i % VARY_BITS == 0) bits = vary_bits(self, i / VARY_BITS);
        to[i] = vary_takes(bits, i, a[i], b[i]) ? b[i] : a[i];
    }
}

static void vary_f64(const Vary *self, size_t begin, size_t end, const double *a, const double *b, double *to) {
    uint64_t bits = vary_bits(self, begin / VARY_BITS);
    for (size_t i = begin; i < end; i++) {
        if (self->how != VARY_MIX) {
            to[i] = vary_number(self, i, a[i]);
            continue;
        }
        if (i % VARY_BITS == 0) bits = vary_bits(self, i / VARY_BITS);
        to[i] = vary_takes(bits, i, a[i], b[i]) ? b[i] : a[i];
    }
}

static void copy(size_t size, size_t begin, size_t end, const void *a, void *to) {
    if (to != a && end > begin) memcpy((char *)to + begin * size, (const char *)a + begin * size, (end - begin) * size);
}

void vary_some(const Vary *self, DType dtype, size_t begin, size_t end, const void *a, const void *b, void *to) {
    const size_t size = dtype_size(dtype), kept = self->kept, kept_end = kept + VARY_BITS < end ? kept + VARY_BITS : end;
    if (self->how == VARY_LETTERS)
        for (size_t i = begin; i < end; i++) ((unsigned char *)to)[i] = vary_letter(self, i, ((const unsigned char *)a)[i]);
    else if (self->how != VARY_NOTHING && dtype == DTYPE_F32)
        vary_f32(self, begin, end, a, b, to);
    else if (self->how != VARY_NOTHING && dtype == DTYPE_F64)
        vary_f64(self, begin, end, a, b, to);
    else
        copy(size, begin, end, a, to);
    if (kept < end && kept_end > begin) copy(size, kept > begin ? kept : begin, kept_end, a, to);
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
    shares_run(n, SHARE_BYTES / dtype_size(dtype), vary_share, &task);
}
