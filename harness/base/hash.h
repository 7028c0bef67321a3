/* hash.h - names for cache entries, comparisons and checksums; nothing that must withstand an attacker. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a (Fowler, Noll, Vo), byte by byte. */
static inline uint64_t hash_bytes(uint64_t state, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) state = (state ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return state;
}

/* One word into a lane. Each step can be undone, so that two inputs that differ in one word never agree. */
static inline uint64_t hash_word(uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return lane << 29 | lane >> 35;
}

/* For arrays: 32 bytes a step, at the speed of memory. */
static inline uint64_t hash_array(uint64_t state, const void *data, size_t bytes) {
    const unsigned char *at = (const unsigned char *)data;
    uint64_t lanes[4] = {state, state + 1, state + 2, state + 3}, words[4];
    const size_t tail = bytes % sizeof words;
    for (const unsigned char *end = at + (bytes - tail); at < end; at += sizeof words) {
        memcpy(words, at, sizeof words);
        for (int i = 0; i < 4; i++) lanes[i] = hash_word(lanes[i], words[i]);
    }
    state = hash_word(lanes[0], bytes);
    for (int i = 1; i < 4; i++) state = hash_word(state, lanes[i]);
    return hash_bytes(state, at, tail);
}
