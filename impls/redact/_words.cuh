/* _words.cuh - redacted rows as words in registers: made from staged bytes four at a time, put together in shared memory, and
 * copied out in stores of 16 bytes. And long rows by whole warps. */
#pragma once

#include "_row.h"

/* Redacted rows of a thread, of up to 13 bytes each, little-endian. The second byte is a space in each that has one, so the 13th
 * takes its place. Rows have as few registers as that: how many blocks an SM holds depends on them. */
struct RowWords {
    unsigned w[3];
};
/* A thread's sizes, up to 8, 4 bits each. LONG: a row that is made later. */
enum { LONG = 15, SIZE_BITS = 4 };
static __device__ inline unsigned row_size(unsigned sizes, unsigned j) {
    return sizes >> SIZE_BITS * j & LONG;
}
static __device__ inline bool has_long_rows(unsigned sizes) {
    const unsigned both = sizes & sizes >> 1;
    return both & both >> 2 & 0x11111111u;
}
static __device__ inline unsigned sizes_sum(unsigned sizes) {
    return ((sizes & 0x0f0f0f0fu) + (sizes >> 4 & 0x0f0f0f0fu)) * 0x01010101u >> 24;
}

static __device__ inline size_t find_space(StringSpan s) {
    size_t i = 0;
    while (i < s.size && s.bytes[i] != ' ') i++;
    return i;
}

/* 4 bytes of shared memory, from byte at + 4 k on. The word behind may be read too. */
static __device__ inline unsigned staged_word(const unsigned char *shared, unsigned at, unsigned k) {
    const unsigned *const words = (const unsigned *)shared + at / 4 + k;
    return __funnelshift_r(words[0], words[1], at * 8); /* shifts are modulo 32 */
}

static __device__ inline bool staged_public(const unsigned char *shared, unsigned at, unsigned size) {
    const unsigned publ = staged_word(shared, at, 0) ^ 0x6c627570u, ic = staged_word(shared, at, 1) ^ 0x6369u;
    return (publ | ic << 16 | (size ^ 6)) == 0;
}

/* sum + the bytes of a times those of b. */
static __device__ inline unsigned bytes_dot(unsigned a, unsigned b, unsigned sum) {
#ifdef __CUDA_ARCH__
    return __dp4a(a, b, sum);
#else
    for (int k = 0; k < 32; k += 8) sum += (a >> k & 0xff) * (b >> k & 0xff);
    return sum;
#endif
}

/* Bit 7 of every byte that is a space, and of some behind the first such byte. */
static __device__ inline unsigned spaces_of(unsigned word) {
    const unsigned zero = word ^ 0x20202020u;
    return (zero - 0x01010101u) & ~zero & 0x80808080u;
}

/* A public name that lies at byte `at` of shared memory. *bytes: LONG, without a size, if it does not fit the words. Bytes of the
 * words behind the row are anything. */
static __device__ inline RowWords staged_row(const unsigned char *shared, unsigned at, unsigned size, unsigned *bytes) {
    const unsigned b[3] = {staged_word(shared, at, 0), staged_word(shared, at, 1), staged_word(shared, at, 2)};
    /* Bit 7 + i: byte i is a space; bit 19: none is. */
    const unsigned low = bytes_dot(spaces_of(b[1]), 0x80402010u, bytes_dot(spaces_of(b[0]), 0x08040201u, 1u << 19));
    const unsigned space = (unsigned)__ffs((int)(low + (bytes_dot(spaces_of(b[2]), 0x08040201u, 0) << 8))) - 8;
    const unsigned initial = shared[at + space + 1];
    *bytes = space < 12 && space + 1 < size && initial < 0xc0 ? space + 2 : LONG;
    return {{__byte_perm(__byte_perm(initial, b[2], 0x0060), b[0], 0x5410), __funnelshift_l(b[0], b[1], 16),
             __funnelshift_l(b[1], b[2], 16)}};
}

/* Puts a thread's rows, none of them long, at byte `at` of shared memory, one behind the other: each word as soon as it is full,
 * the first one with zeros where other threads have bytes. Returns the bytes of the word that its last row leaves open, or 0. */
template <unsigned ROWS>
static __device__ inline unsigned put_rows(unsigned char *shared, unsigned at, const RowWords *rows, unsigned sizes) {
    unsigned open = 0;
#pragma unroll
    for (unsigned j = 0; j < ROWS; j++) {
        const unsigned end = at + row_size(sizes, j), full = end / 4 - at / 4, shift = at * 8;
        const unsigned *const w = rows[j].w, first = (w[0] & 0xffff00ffu) | 0x2000u, last = w[0] >> 8;
        const unsigned words[4] = {open | __funnelshift_l(0u, first, shift), __funnelshift_l(first, w[1], shift),
                                   __funnelshift_l(w[1], w[2], shift), __funnelshift_l(w[2], last, shift)};
        unsigned *const to = (unsigned *)shared + at / 4;
        open = words[0];
#pragma unroll
        for (unsigned k = 0; k < 4; k++) {
            if (full <= k) continue;
            to[k] = words[k];
            if (k < 3) open = words[k + 1];
        }
        open &= ~__funnelshift_l(0u, 0xffffffffu, end * 8);
        at = end;
    }
    return open;
}

/* `bytes` of shared memory to any address, in stores of 16 bytes. Up to 20 bytes behind them are read. A block of THREADS. */
template <unsigned THREADS> static __device__ inline void copy_out(unsigned char *to, const unsigned char *shared, unsigned bytes) {
    unsigned head = (unsigned)(-(uintptr_t)to % 16);
    if (head > bytes) head = bytes;
    const unsigned units = (bytes - head) / 16, end = head + units * 16;
    if (threadIdx.x < head) to[threadIdx.x] = shared[threadIdx.x];
#pragma unroll 4
    for (unsigned u = threadIdx.x; u < units; u += THREADS) {
        const unsigned at = head + u * 16;
        *(uint4 *)(to + head + u * 16) = make_uint4(staged_word(shared, at, 0), staged_word(shared, at, 1),
                                                    staged_word(shared, at, 2), staged_word(shared, at, 3));
    }
    if (end + threadIdx.x < bytes) to[end + threadIdx.x] = shared[end + threadIdx.x];
}

/* Index of the first space; size if there is none. All lanes of a warp, with the same string. */
static __device__ size_t warp_find_space(StringSpan s) {
    constexpr unsigned LOADS = 8, STEP = 32 * LOADS;
    const unsigned lane = threadIdx.x % 32;
    for (size_t i = 0; i < s.size; i += STEP) {
        unsigned char bytes[LOADS];
#pragma unroll
        for (unsigned k = 0; k < LOADS; k++) bytes[k] = i + 32 * k + lane < s.size ? s.bytes[i + 32 * k + lane] : 0;
#pragma unroll
        for (unsigned k = 0; k < LOADS; k++) {
            const unsigned spaces = __ballot_sync(0xffffffffu, bytes[k] == ' ');
            if (spaces) return i + 32 * k + (unsigned)__ffs((int)spaces) - 1;
        }
    }
    return s.size;
}

static __device__ void warp_write(unsigned char *to, const RedactedRow &row) {
    const unsigned lane = threadIdx.x % 32;
    if (row.hidden) {
        if (lane < REDACTED_HIDDEN_BYTES) to[lane] = lane == 1 ? ' ' : 'X';
        return;
    }
    if (lane < row.initial.size) to[lane] = row.initial.bytes[lane];
    to += row.initial.size;
    if (lane == 0) *to = ' ';
#pragma unroll 8
    for (size_t i = lane; i < row.rest.size; i += 32) to[1 + i] = row.rest.bytes[i];
}
