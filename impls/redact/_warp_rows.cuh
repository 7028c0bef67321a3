/* _warp_rows.cuh - what _words.cuh has for long rows, each by a whole warp, with 16 bytes to a lane at a time in place of one: for
 * kernels that have the registers. All lanes take part, with the same string. */
#pragma once

#include "_words.cuh"

enum { WARP_UNIT = 16, WARP_LOADS = 4 /* of a lane in flight */ };

/* Byte of the first space among 16; 16 if there is none. */
static __device__ inline unsigned unit_space(uint4 unit) {
    const unsigned words[4] = {unit.x, unit.y, unit.z, unit.w};
    unsigned first = WARP_UNIT;
#pragma unroll
    for (int k = 3; k >= 0; k--) {
        const unsigned spaces = spaces_of(words[k]);
        if (spaces) first = 4 * (unsigned)k + ((unsigned)__ffs((int)spaces) - 1) / 8;
    }
    return first;
}

/* Of the lanes' numbers, each below `none` or `none`, that of the first lane that has one. */
static __device__ inline unsigned first_lane(unsigned own, unsigned none) {
    const unsigned some = __ballot_sync(0xffffffffu, own < none);
    return some ? __shfl_sync(0xffffffffu, own, __ffs((int)some) - 1) : none;
}

/* The first space among `count` bytes, fewer than 32; count if there is none. */
static __device__ inline unsigned few_space(const unsigned char *bytes, unsigned count) {
    const unsigned lane = threadIdx.x % 32;
    return first_lane(lane < count && bytes[lane] == ' ' ? lane : count, count);
}

/* Index of the first space; size if there is none. */
static __device__ inline size_t wide_find_space(StringSpan s) {
    constexpr unsigned STEP = 32 * WARP_UNIT;
    const unsigned lane = threadIdx.x % 32, aligned = (unsigned)(-(uintptr_t)s.bytes % WARP_UNIT);
    const unsigned head = aligned < s.size ? aligned : (unsigned)s.size;
    const unsigned early = few_space(s.bytes, head);
    if (early < head) return early;
    const size_t units = (s.size - head) / WARP_UNIT;
    const uint4 *const from = (const uint4 *)(s.bytes + head);
    for (size_t done = 0; done < units; done += 32 * WARP_LOADS) {
        uint4 unit[WARP_LOADS];
#pragma unroll
        for (unsigned k = 0; k < WARP_LOADS; k++) {
            const size_t u = done + 32 * k + lane;
            unit[k] = u < units ? from[u] : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (unsigned k = 0; k < WARP_LOADS; k++) {
            const unsigned own = unit_space(unit[k]), at = first_lane(own < WARP_UNIT ? lane * WARP_UNIT + own : STEP, STEP);
            if (at < STEP) return head + (done + 32 * k) * WARP_UNIT + at;
        }
    }
    const size_t end = head + units * WARP_UNIT;
    return end + few_space(s.bytes + end, (unsigned)(s.size - end));
}

/* Any number of bytes between any addresses: words as they lie in `from` are shifted into units as they lie in `to`. */
static __device__ inline void wide_copy(unsigned char *to, const unsigned char *from, size_t size) {
    const unsigned lane = threadIdx.x % 32, shift = (unsigned)((uintptr_t)from - (uintptr_t)to) % 4;
    unsigned head = (unsigned)(-(uintptr_t)to % WARP_UNIT);
    if (head < shift) head += WARP_UNIT; /* the first word of a unit begins `shift` bytes before it, and not before the string */
    if (size < head + WARP_UNIT + 4) {
        for (size_t i = lane; i < size; i += 32) to[i] = from[i];
        return;
    }
    const size_t units = (size - head - 4) / WARP_UNIT, end = head + units * WARP_UNIT; /* and the last ends at most 4 behind it */
    const unsigned *const words = (const unsigned *)(from + head - shift);
    if (lane < head) to[lane] = from[lane];
#pragma unroll 4
    for (size_t u = lane; u < units; u += 32) {
        const unsigned *const w = words + 4 * u;
        const unsigned a = w[0], b = w[1], c = w[2], d = w[3], e = shift > 0 ? w[4] : 0;
        *(uint4 *)(to + head + u * WARP_UNIT) = make_uint4(__funnelshift_r(a, b, shift * 8), __funnelshift_r(b, c, shift * 8),
                                                           __funnelshift_r(c, d, shift * 8), __funnelshift_r(d, e, shift * 8));
    }
    if (end + lane < size) to[end + lane] = from[end + lane];
}

static __device__ inline void wide_write(unsigned char *to, const RedactedRow &row) {
    const unsigned lane = threadIdx.x % 32;
    if (row.hidden) {
        if (lane < REDACTED_HIDDEN_BYTES) to[lane] = lane == 1 ? ' ' : 'X';
        return;
    }
    if (lane < row.initial.size) to[lane] = row.initial.bytes[lane];
    if (lane == 31) to[row.initial.size] = ' ';
    wide_copy(to + row.initial.size + 1, row.rest.bytes, row.rest.size);
}
