/* rng.h - SplitMix64 by position: random element i of a seed, without state, so that any thread can make any part. */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define RNG_BOTH __host__ __device__
#else
#define RNG_BOTH
#endif

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014): the mixing function over a Weyl sequence. */
static inline RNG_BOTH uint64_t rng_at(uint64_t seed, uint64_t index) {
    uint64_t z = seed * UINT64_C(0xd1342543de82ef95) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* U(0, 1), 53 bits; never 0, and 1 only where the last step rounds up to it (probability 2^-53). */
static inline RNG_BOTH double rng_uniform(uint64_t seed, uint64_t index) {
    return ((double)(rng_at(seed, index) >> 11) + 0.5) * 0x1p-53;
}
