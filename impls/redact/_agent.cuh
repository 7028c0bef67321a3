/* _agent.cuh - offsets of tiles in one pass: tiles publish their sizes, one block, the agent, turns them into positions.
 *
 * Blocks draw tickets: ticket 0 is the agent, ticket t + 1 takes tile t. A block that holds a ticket is running, so whatever a tile
 * waits for is running too, in whatever order the hardware starts blocks. A tile writes its size to a dense array, which the
 * agent's warps poll with coalesced loads, and polls a word of its own, alone in its line of 128 bytes, for its position: nobody
 * polls a line that others write to.
 *
 * A size and a position are words of 64 bits: twice the number of bytes, plus 1. 0 is "not yet". The sizes and the ticket are set
 * to 0 by the host before the kernel, a position by its tile's block before it publishes its size. */
#ifndef RUNGS_REDACT_AGENT_CUH
#define RUNGS_REDACT_AGENT_CUH

#include "_column.cuh"

enum {
    AGENT_LINE = 16 /* words of a line of 128 bytes */,
    AGENT_PER_LANE = 2 /* tiles of a lane */,
    AGENT_GROUP = 32 * AGENT_PER_LANE
};

typedef unsigned long long Word;

/* In scratch. */
struct Agent {
    size_t tiles;
    unsigned *ticket;
    Word *sizes;     /* [tiles] */
    Word *positions; /* [tiles][AGENT_LINE], the first of each line */
};

static inline size_t agent_zeroed_bytes(size_t tiles) {
    return (1 + tiles) * sizeof(Word);
}
static inline size_t agent_scratch_bytes(size_t tiles) {
    return divide_up(agent_zeroed_bytes(tiles), 128) * 128 + tiles * AGENT_LINE * sizeof(Word);
}

static inline Status agent_begin(const VariantArgs *args, size_t tiles, Agent *out) {
    Word *const words = (Word *)args->scratch;
    *out = {tiles, (unsigned *)words, words + 1, words + divide_up(agent_zeroed_bytes(tiles), 128) * AGENT_LINE};
    TRY_CUDA(cudaMemsetAsync(words, 0, agent_zeroed_bytes(tiles), (cudaStream_t)args->stream));
    return STATUS_OK;
}

/* A load that later stores of this thread cannot overtake. */
static __device__ inline Word word_acquire(const Word *at) {
#if defined(__CUDA_ARCH__)
    Word word;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
#else
    const Word word = *(const volatile Word *)at;
    __threadfence();
    return word;
#endif
}

/* One thread of a tile's block, before it publishes the size. */
static __device__ inline void agent_clear(const Agent &agent, size_t tile) {
    *(volatile Word *)(agent.positions + tile * AGENT_LINE) = 0;
    __threadfence();
}
static __device__ inline void agent_publish(const Agent &agent, size_t tile, size_t bytes) {
    *(volatile Word *)(agent.sizes + tile) = 2 * (Word)bytes + 1;
}
/* Waits for the tile's position: the bytes of all tiles before it. */
static __device__ inline size_t agent_position(const Agent &agent, size_t tile) {
    const volatile Word *const at = agent.positions + tile * AGENT_LINE;
    Word word;
    while (!((word = *at) & 1)) {}
    return (size_t)(word / 2);
}

/* Between the agent's warps: the bytes before a group, and which group that is. */
struct AgentCarry {
    Word bytes;
    unsigned long long group;
};

/* One block, all threads. carry: shared, {0, 0}. A warp takes a group of tiles, then the one behind those of all warps. It
 * publishes what it can as sizes arrive, and hands the sum of a whole group to the next warp. */
static __device__ inline void agent_run(const Agent &agent, volatile AgentCarry *carry) {
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (size_t group = threadIdx.x / 32; group * AGENT_GROUP < agent.tiles; group += warps) {
        const size_t first = group * AGENT_GROUP, left = agent.tiles - first;
        const unsigned count = left < AGENT_GROUP ? (unsigned)left : AGENT_GROUP;
        Word size[AGENT_PER_LANE] = {}, before = 0, through = 0, own = 0; /* through: bytes of lanes 0..lane */
        unsigned known = 0, seen = 0, done = 0; /* of the lane's tiles; of the group's, without a gap: sizes and positions */
        bool have_before = false;
        while (done < count) {
            if (seen < count) {
#pragma unroll
                for (unsigned k = 0; k < AGENT_PER_LANE; k++) {
                    if (known != k || AGENT_PER_LANE * lane + k >= count) continue;
                    const Word word = word_acquire(agent.sizes + first + AGENT_PER_LANE * lane + k);
                    if (!(word & 1)) continue;
                    size[k] = word / 2;
                    own += size[k];
                    known++;
                }
                through = own;
                for (unsigned distance = 1; distance < 32; distance *= 2) {
                    const Word other = __shfl_up_sync(0xffffffffu, through, distance);
                    if (lane >= distance) through += other;
                }
                const unsigned waiting = __ballot_sync(0xffffffffu, known < AGENT_PER_LANE);
                const int gap = waiting ? __ffs((int)waiting) - 1 : 31;
                seen = AGENT_PER_LANE * (unsigned)gap + __shfl_sync(0xffffffffu, known, gap);
            }
            if (!have_before) {
                have_before = __all_sync(0xffffffffu, carry->group == group);
                __threadfence_block();
                if (have_before) before = carry->bytes;
            }
            if (!have_before || seen == done) continue;
            if (seen == count && lane == 31) {
                carry->bytes = before + through;
                __threadfence_block();
                carry->group = group + 1;
            }
            Word position = before + through - own;
#pragma unroll
            for (unsigned k = 0; k < AGENT_PER_LANE; k++) {
                const unsigned at = AGENT_PER_LANE * lane + k;
                if (at >= done && at < seen) *(volatile Word *)(agent.positions + (first + at) * AGENT_LINE) = 2 * position + 1;
                position += size[k];
            }
            done = seen;
        }
    }
}

#endif
