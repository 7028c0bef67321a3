/* _agent.cuh - offsets of tiles in one pass: tiles publish their sizes, one block, the agent, turns them into positions.
 *
 * Block 0 is the agent, block t + 1 takes tile t. A tile writes its size to a dense array, which the agent's warps poll with
 * coalesced loads, and polls a word of its own, alone in its line of 128 bytes, for its position: nobody polls a line that others
 * write to. A tile does not wait forever and has written its size before, so no order of blocks is needed.
 *
 * A size and a position are words of 64 bits: twice the number of bytes, plus 1. 0 is "not yet", as a kernel of its
 * own sets all of them before. A word is all that is handed over, so nothing needs to be ordered and no fence is needed. */
#pragma once

#include "_column.cuh"
#include "common/early_launch.cuh"

/* How often a tile polls before it finds its position itself. */
#ifdef RUNGS_EMULATED
enum { AGENT_POLLS_MAX = 100 }; /* where few blocks run at a time, in any order */
#else
enum { AGENT_POLLS_MAX = 100000 }; /* tens of milliseconds */
#endif

enum {
    AGENT_LINE = 16 /* words of a line of 128 bytes */,
    AGENT_PER_LANE = 4 /* tiles of a lane */,
    AGENT_GROUP = 32 * AGENT_PER_LANE
};

typedef unsigned long long Word;

/* In scratch. */
struct Agent {
    size_t tiles;
    Word *positions; /* [tiles][AGENT_LINE], the first of each line */
    Word *sizes;     /* [tiles], and up to a whole lane's */
};

static inline size_t agent_scratch_bytes(size_t tiles) {
    return (tiles * AGENT_LINE + divide_up(tiles, AGENT_PER_LANE) * AGENT_PER_LANE) * sizeof(Word);
}

enum { AGENT_CLEAR_THREADS = 256 };
static __global__ void __launch_bounds__(AGENT_CLEAR_THREADS) agent_clear_kernel(Word *words, size_t n) {
    early_allow();
    const size_t i = blockIdx.x * (size_t)AGENT_CLEAR_THREADS + threadIdx.x;
    if (i < n) words[i] = 0;
}

/* Clears the words by a kernel: the one behind it in the stream, launch_early(), overlaps it. */
static inline Status agent_begin(const VariantArgs *args, size_t tiles, Agent *out) {
    Word *const words = (Word *)args->scratch;
    const size_t n = agent_scratch_bytes(tiles) / sizeof(Word);
    *out = {tiles, words, words + tiles * AGENT_LINE};
    if (tiles == 0) return STATUS_OK;
    return launch(agent_clear_kernel,
                  {dim3((unsigned)divide_up(n, AGENT_CLEAR_THREADS)), dim3(AGENT_CLEAR_THREADS), 0, args->stream}, words, n);
}

/* Words that others poll: no store or load may be kept in a register or left out, and nothing else is ordered by them. */
static __device__ inline void agent_store(Word *to, Word word) {
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
#else
    *(volatile Word *)to = word;
#endif
}
static __device__ inline Word agent_load(const Word *from) {
#ifdef __CUDA_ARCH__
    Word word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
#else
    return *(const volatile Word *)from;
#endif
}

/* One thread of a tile's block. */
static __device__ inline void agent_publish(const Agent &agent, size_t tile, size_t bytes) {
    early_wait();
    agent_store(agent.sizes + tile, 2 * (Word)bytes + 1);
}
/* Waits for the tile's position, the bytes of all tiles before it; not forever. */
static __device__ inline bool agent_position(const Agent &agent, size_t tile, size_t *position) {
    Word word = 0;
    for (unsigned polls = 0; polls < AGENT_POLLS_MAX && !(word & 1); polls++)
        word = agent_load(agent.positions + tile * AGENT_LINE);
    *position = (size_t)(word / 2);
    return word & 1;
}

/* Two words at a multiple of 16 bytes, in one load: each is complete or not there yet, on its own. */
static __device__ inline void agent_load_pair(const Word *from, Word *out) {
#ifdef __CUDA_ARCH__
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(out[0]), "=l"(out[1]) : "l"(from) : "memory");
#else
    out[0] = *(const volatile Word *)from;
    out[1] = *(const volatile Word *)(from + 1);
#endif
}

/* What the agent's warps hand to each other, in one word: the bytes before a group of tiles, and the group modulo 2^16. */
static __device__ inline Word agent_carry(Word bytes, size_t group) {
    return bytes << 16 | (group & 0xffff);
}

/* One block, all threads. carry: shared, 0. A warp takes a group of tiles, then the one behind those of all warps. It publishes
 * what it can as sizes arrive, and hands the sum of a whole group to the next warp. The loads of a poll are independent: the
 * agent's turn is one trip to the L2 cache, and its turns limit how many tiles a second get their positions. */
static __device__ inline void agent_run(const Agent &agent, volatile Word *carry) {
    early_wait();
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (size_t group = threadIdx.x / 32; group * AGENT_GROUP < agent.tiles; group += warps) {
        const size_t first = group * AGENT_GROUP, left = agent.tiles - first;
        const unsigned count = left < AGENT_GROUP ? (unsigned)left : AGENT_GROUP, at = AGENT_PER_LANE * lane;
        const unsigned own_count = at >= count ? 0 : count - at < AGENT_PER_LANE ? count - at : AGENT_PER_LANE;
        Word word[AGENT_PER_LANE] = {}, before = 0, through = 0, own = 0; /* through: bytes of lanes 0..lane */
        unsigned known = 0, seen = 0, done = 0; /* of the lane's tiles; of the group's, without a gap: sizes and positions */
        bool have_before = group == 0;
        while (done < count) {
            if (seen < count) {
                if (known < own_count) {
#pragma unroll
                    for (unsigned k = 0; k < AGENT_PER_LANE; k += 2) agent_load_pair(agent.sizes + first + at + k, word + k);
                    known = 0;
                    own = 0;
#pragma unroll
                    for (unsigned k = 0; k < AGENT_PER_LANE; k++) {
                        if (known != k || k >= own_count || !(word[k] & 1)) continue;
                        known++;
                        own += word[k] / 2;
                    }
                }
                through = own;
                for (unsigned distance = 1; distance < 32; distance *= 2) {
                    const Word other = __shfl_up_sync(0xffffffffu, through, distance);
                    if (lane >= distance) through += other;
                }
                const unsigned waiting = __ballot_sync(0xffffffffu, known < own_count);
                const int gap = waiting ? __ffs((int)waiting) - 1 : 31;
                const unsigned through_gap = AGENT_PER_LANE * (unsigned)gap + __shfl_sync(0xffffffffu, known, gap);
                seen = waiting ? through_gap : count;
            }
            if (!have_before) {
                const Word word_before = *carry;
                have_before = __all_sync(0xffffffffu, (word_before & 0xffff) == (group & 0xffff));
                before = word_before >> 16;
            }
            if (!have_before || seen == done) continue;
            if (seen == count && lane == 31) *carry = agent_carry(before + through, group + 1);
            Word position = before + through - own;
#pragma unroll
            for (unsigned k = 0; k < AGENT_PER_LANE; k++) {
                if (at + k >= done && at + k < seen) agent_store(agent.positions + (first + at + k) * AGENT_LINE, 2 * position + 1);
                position += word[k] / 2;
            }
            done = seen;
        }
    }
}
