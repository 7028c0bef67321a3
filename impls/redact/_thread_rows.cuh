/* _thread_rows.cuh - rows of any size, each by one thread, from staged bytes to any address in words of 4 bytes. */
#pragma once

#include "_words.cuh"

/* First space among the `size` bytes from byte `at` of shared memory on; size if there is none. Up to 7 bytes behind them are read.
 */
static __device__ inline unsigned staged_find_space(const unsigned char *shared, unsigned at, unsigned size) {
    for (unsigned i = 0; i < size; i += 4) {
        const unsigned spaces = spaces_of(staged_word(shared, at + i, 0));
        if (spaces == 0) continue;
        const unsigned first = i + ((unsigned)__ffs((int)spaces) - 1) / 8;
        return first < size ? first : size;
    }
    return size;
}

static __device__ inline RedactedRow staged_public_row(const unsigned char *shared, unsigned at, unsigned size) {
    return redacted_public({shared + at, size}, staged_find_space(shared, at, size));
}

/* Bytes one behind the other. Whole words are stored as such; those that other threads share, the first and the last, a byte at a
 * time. */
struct ByteWriter {
    unsigned char *word;     /* aligned to 4: where the bytes that are held go */
    unsigned long long held; /* `count` bytes, fewer than 4 between calls; the first `foreign` are not ours */
    unsigned count, foreign;

    __device__ explicit ByteWriter(unsigned char *to)
        : word(to - (uintptr_t)to % 4), held(0), count((unsigned)((uintptr_t)to % 4)), foreign(count) {}

    __device__ void store_bytes(unsigned end) {
        for (unsigned b = foreign; b < end; b++) word[b] = (unsigned char)(held >> 8 * b);
    }
    /* Up to 4 bytes: the low ones of `bytes`; those above are ignored. */
    __device__ void append(unsigned bytes, unsigned size) {
        held |= (unsigned long long)(size < 4 ? bytes & ((1u << 8 * size) - 1) : bytes) << 8 * count;
        count += size;
        if (count < 4) return;
        if (foreign > 0)
            store_bytes(4);
        else
            *(unsigned *)word = (unsigned)held;
        word += 4;
        held >>= 32;
        count -= 4;
        foreign = 0;
    }
    __device__ void append_staged(const unsigned char *shared, unsigned at, unsigned size) {
        for (unsigned i = 0; i < size; i += 4) append(staged_word(shared, at + i, 0), size - i < 4 ? size - i : 4);
    }
    __device__ void finish() { store_bytes(count); }
};
