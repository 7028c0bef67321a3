/* cpu_chain.h - a long row is cut into blocks that threads take in turn; what one block carries into the next goes from thread to
 * thread through a slot in scratch. A thread takes its blocks in order, so the first block not done can always go on. */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#if defined __SSE2__
#include <immintrin.h>
#endif

enum { CHAIN_BLOCK = 1 << 15, CHAIN_BLOCK_LEAST = 1 << 11, CHAIN_THREAD_LEAST = 1 << 13, CHAIN_MULTIPLE = 32 };

/* Threads for so many elements: as asked, or all cores unless there is too little for them. */
static inline int chain_threads(long long asked, int cores, size_t elements) {
    const size_t worth = elements / CHAIN_THREAD_LEAST + 1;
    return asked > 0 ? (int)asked : worth < (size_t)cores ? (int)worth : cores;
}

/* Elements of a block, a multiple of CHAIN_MULTIPLE: two for each thread, so that no one waits long for the last. */
static inline size_t chain_block_size(size_t elements, int threads) {
    const size_t block = elements / (2 * (size_t)threads) / CHAIN_MULTIPLE * CHAIN_MULTIPLE;
    if (threads == 1 || block > CHAIN_BLOCK) return CHAIN_BLOCK;
    return block < CHAIN_BLOCK_LEAST ? CHAIN_BLOCK_LEAST : block;
}

/* One per block, placed before the carried value; zero before the threads start. */
typedef struct ChainSlot {
    atomic_int ready;
} ChainSlot;

static inline void chain_publish(ChainSlot *slot) {
    atomic_store_explicit(&slot->ready, 1, memory_order_release);
}

/* Threads may outnumber cores, so a long wait yields its core. */
static inline void chain_wait(ChainSlot *slot) {
    enum { PATIENCE = 2000 };
    for (int tries = 0; atomic_load_explicit(&slot->ready, memory_order_acquire) == 0; tries++) {
        if (tries >= PATIENCE) {
            sched_yield();
            continue;
        }
#if defined __SSE2__
        _mm_pause();
#endif
    }
}
