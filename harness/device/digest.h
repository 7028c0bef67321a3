/* digest.h - what the GPU does with arrays of ours: a checksum, which tells that one changed without copying it to the host, and
 * the inputs of timed calls. */
#pragma once

#include "base/status.h"
#include "base/vary.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define DIGEST_BOTH __host__ __device__
#else
#define DIGEST_BOTH
#endif

__BEGIN_DECLS

/* What a word adds to the sum. Each step is a bijection, so a change of a single word always changes the sum. After SplitMix64
 * (Steele, Lea and Flood, OOPSLA 2014). */
static inline DIGEST_BOTH uint64_t digest_of_word(uint64_t word, uint64_t index, uint64_t seed) {
    uint64_t x = word + seed + index * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

enum { DIGEST_STEP = 16 }; /* bytes that are read at once, from the first address that is a multiple of it */

/* The sum over `bytes` bytes at any address: of the aligned words, numbered from 0, then of the single bytes before and behind
 * them. data: on the device; word: 8 bytes there, overwritten. Waits for the stream. */
Status digest_gpu(const void *data, size_t bytes, uint64_t seed, void *word, void *stream, uint64_t *out);
/* For the workers of Python libraries: with a word of its own, and no seed. */
Status digest_of(const void *data, size_t bytes, void *stream, uint64_t *out);
/* Device.vary on a stream. */
Status vary_gpu(const Vary *how, DType dtype, size_t n, const void *a, const void *b, void *to, void *stream);

__END_DECLS
