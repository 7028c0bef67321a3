/* reads.h - what of an op's inputs has to be read: memory moves whole sectors (32 bytes on a GPU, a cache line of 64 on a CPU), so
 * that a byte costs as much as the sector in which it lies. */
#pragma once

#include "base/array.h"

enum { READS_MAX_INPUTS = 16 };

/* The sectors of one input: none of them lies below `low`, nor at `end` or beyond. */
typedef struct ReadsOf {
    size_t count, low, end;
} ReadsOf;

typedef struct Reads {
    int shift; /* 2^shift bytes are a sector */
    ReadsOf of[READS_MAX_INPUTS];
} Reads;

/* `bytes` bytes from `begin` on have to be read. One call after the other in either direction; of what lies between the ends so far
 * nothing more is counted, so that in another order the sum is too small, never too large. */
static inline void reads_need(Reads *self, int input, size_t begin, size_t bytes) {
    if (bytes == 0) return;
    ReadsOf *of = &self->of[input];
    const size_t low = begin >> self->shift, end = ((begin + bytes - 1) >> self->shift) + 1;
    if (of->end == 0) of->low = of->end = low;
    if (low < of->low) of->count += (end < of->low ? end : of->low) - low, of->low = low;
    if (end > of->end) of->count += end - (low > of->end ? low : of->end), of->end = end;
}

/* Elements of an array. */
static inline void reads_need_elements(Reads *self, int input, const Array *in, size_t first, size_t count) {
    const size_t size = dtype_size(in[input].dtype);
    reads_need(self, input, first * size, count * size);
}

/* Adds what parts 0, 1, ... need, each of which lies behind the one before, on all cores. Nothing without memory. */
void reads_need_parts(Reads *self, size_t parts, void (*need)(const void *of, size_t part, Reads *reads), const void *of);

/* Bytes in those sectors, of each input at most its own. */
double reads_bytes(const Reads *self, const Array *in, int in_count);
