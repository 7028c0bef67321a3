/* _agent.cuh - offsets of tiles in one pass: tiles publish their sizes, one block, the agent, turns them into positions.
 *
 * Block 0 is the agent, block t + 1 takes tile t. A tile writes its size to a dense array, which the agent's warps poll with
 * coalesced loads, and polls a word of its own, alone in its line of 128 bytes, for its position: nobody polls a line that others
 * write to. A tile does not wait forever and has written its size before, so no order of blocks is needed.
 *
 * A size and a position are words of 64 bits: twice the number of bytes, plus 1. 0 is "not yet", as the host sets all of them
 * before the kernel. A word is all that is handed over, so nothing needs to be ordered and no fence is needed. */
#ifndef RUNGS_REDACT_AGENT_CUH
#define RUNGS_REDACT_AGENT_CUH

#include "_column.cuh"

/* How often a tile polls before it finds its position itself. */
#ifdef RUNGS_EMULATED
enum { AGENT_POLLS_MAX = 100 }; /* where few blocks run at a time, in any order */
#else
enum { AGENT_POLLS_MAX = 100000 }; /* tens of milliseconds */
#endif

enum {
    AGENT_LINE = 16 /* words of a line of 128 bytes */,
    AGENT_PER_LANE = 2 /* tiles of a lane */,
    AGENT_GROUP = 32 * AGENT_PER_LANE
};

typedef unsigned long long Word;

/* In scratch. */
struct Agent {
    size_t tiles;
    Word *positions; /* [tiles][AGENT_LINE], the first of each line */
    Word *sizes;     /* [tiles] */
};

static inline size_t agent_scratch_bytes(size_t tiles) {
    return tiles * (AGENT_LINE + 1) * sizeof(Word);
}

static inline Status agent_begin(const VariantArgs *args, size_t tiles, Agent *out) {
    Word *const words = (Word *)args->scratch;
    *out = {tiles, words, words + tiles * AGENT_LINE};
    if (tiles > 0) TRY_CUDA(cudaMemsetAsync(words, 0, agent_scratch_bytes(tiles), (cudaStream_t)args->stream));
    return STATUS_OK;
}

/* One thread of a tile's block. */
static __device__ inline void agent_publish(const Agent &agent, size_t tile, size_t bytes) {
    *(volatile Word *)(agent.sizes + tile) = 2 * (Word)bytes + 1;
}
/* Waits for the tile's position, the bytes of all tiles before it; not forever. */
static __device__ inline bool agent_position(const Agent &agent, size_t tile, size_t *position) {
    const volatile Word *const at = agent.positions + tile * AGENT_LINE;
    Word word = 0;
    for (unsigned polls = 0; polls < AGENT_POLLS_MAX && !(word & 1); polls++) word = *at;
    *position = (size_t)(word / 2);
    return word & 1;
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
                    const Word word = *(const volatile Word *)(agent.sizes + first + AGENT_PER_LANE * lane + k);
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
            __syncwarp(); /* all lanes have read what precedes the group, before one writes what precedes the next */
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
