/* hash.h - FNV-1a (Fowler, Noll, Vo), 64 bits: names for cache entries and comparisons, nothing that must withstand an attacker. */
#ifndef RUNGS_BASE_HASH_H
#define RUNGS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_bytes(uint64_t state, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) state = (state ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return state;
}

#endif
