/* agent.cuh - the states of tiles, scanned by one block while the others work: instead of each tile looking back over those before
 * it.
 *
 * A tile's block publishes the state of its elements; the agent's warps read the states, 32 at a time, scan them and publish the
 * state of all that precedes each tile. So a tile polls one line. Which tiles are scanned together is fixed: results do not depend
 * on timing. The agent waits for blocks that come after it. Blocks therefore take their numbers from a counter, in the order in
 * which they start, and the agent has the first: all that it waits for have a place to run, as tiles only wait for the agent.
 *
 * A State is trivially copyable in words of 8 bytes, has merge(later), and shuffle() of block_scan.cuh knows it; State() is that of
 * no element. All words are published, each its own flag (published.cuh). */
#ifndef RUNGS_AGENT_CUH
#define RUNGS_AGENT_CUH

#include "common/block_scan.cuh"
#include "common/published.cuh"

#include <string.h>

/* What the tiles of one scan exchange; in global memory, emptied before the launch. */
template <typename State> struct AgentTiles {
    static constexpr unsigned WORDS = sizeof(State) / sizeof(PublishedWord);
    static_assert(sizeof(State) % sizeof(PublishedWord) == 0 && sizeof(State) <= sizeof(PublishedLine));
    PublishedLine *befores; /* of all that precedes a tile: a line for each */
    PublishedWord *totals;  /* of the tile: word w of tile t is w * count + t */
    size_t count;

    static constexpr size_t BYTES = sizeof(PublishedLine) + sizeof(State); /* for each tile */

    __device__ void publish_total(size_t tile, const State &state) const {
        PublishedWord words[WORDS];
        memcpy(words, &state, sizeof state);
#pragma unroll
        for (unsigned w = 0; w < WORDS; w++) publish(totals + w * count + tile, words[w]);
    }
    __device__ void publish_before(size_t tile, const State &state) const {
        PublishedWord words[WORDS];
        memcpy(words, &state, sizeof state);
#pragma unroll
        for (unsigned w = 0; w < WORDS; w++) publish(&befores[tile].words[w], words[w]);
    }
    __device__ bool total(size_t tile, State *state) const {
        PublishedWord words[WORDS];
        bool ready = true;
#pragma unroll
        for (unsigned w = 0; w < WORDS; w++) ready = published(totals + w * count + tile, &words[w]) && ready;
        memcpy(state, words, sizeof words);
        return ready;
    }
    /* Waits. By one thread. */
    __device__ State before(size_t tile) const {
        PublishedWord words[WORDS];
        for (bool ready = false; !ready;) {
            ready = true;
#pragma unroll
            for (unsigned w = 0; w < WORDS; w++) ready = published(&befores[tile].words[w], &words[w]) && ready;
        }
        State state;
        memcpy(&state, words, sizeof words);
        return state;
    }
};

/* What the agent's warps hand to each other: the state of all tiles before `group`. In shared memory, which has no constructors;
 * group begins at 0. */
template <typename State> struct AgentChain {
    PublishedWord words[AgentTiles<State>::WORDS];
    volatile unsigned long long group;
};

/* By all threads of a block. Warp w has groups w, w + warps, ... of 32 tiles; it publishes as far as their states have appeared. */
template <typename State> __device__ void agent_run(const AgentTiles<State> &tiles, AgentChain<State> *chain) {
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    for (size_t group = threadIdx.x / WARP; group * WARP < tiles.count; group += warps) {
        const size_t tile = group * WARP + lane;
        const unsigned count = tiles.count - group * WARP < WARP ? (unsigned)(tiles.count - group * WARP) : (unsigned)WARP;
        bool ready = tile >= tiles.count, known = group == 0;
        State total, before, sum;
        unsigned seen = 0;
        for (unsigned done = 0; done < count;) {
            if (!ready) ready = tiles.total(tile, &total);
            const unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready);
            const unsigned now = missing ? (unsigned)__ffs((int)missing) - 1 : count;
            if (now > seen) {
                seen = now < count ? now : count;
                sum = warp_scan<true>(lane < seen ? total : State());
            }
            if (!known && __all_sync((unsigned)ALL_LANES, chain->group == group)) {
                __threadfence_block();
                memcpy(&before, chain->words, sizeof before);
                known = true;
            }
            __syncwarp(); /* all lanes have read the chain, before one writes it */
            if (!known || seen == done) continue;
            State all = before;
            all.merge(sum);
            if (seen == count && lane == count - 1) {
                memcpy(chain->words, &all, sizeof all);
                __threadfence_block(); /* the state before the number of the group */
                chain->group = group + 1;
            }
            if (lane >= done && lane < seen && tile + 1 < tiles.count) tiles.publish_before(tile + 1, all);
            done = seen;
        }
    }
}

#endif
