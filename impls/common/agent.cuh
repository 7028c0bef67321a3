/* agent.cuh - the states of tiles, scanned by one block while the others work: instead of each tile looking back over those before
 * it.
 *
 * A tile's block publishes the state of its elements; the agent's warps read the states, 32 at a time, scan them and publish the
 * state of all that precedes each tile. So a tile polls one line. Which tiles are scanned together is fixed: results do not depend
 * on timing.
 *
 * CUDA promises no order in which blocks start, so nobody waits without end. A tile's block publishes its total before it waits; if
 * it has polled long, or the agent has, agent_again() does the agent's work for the tiles in question, and takes what is missing
 * from the caller, who finds it in the data. So every block ends, whichever others run beside it, and even alone.
 *
 * A State is trivially copyable in words of 8 bytes, has merge(later), and shuffle() of block_scan.cuh knows it; State() is that of
 * no element. All words are published, each its own flag (published.cuh). */
#ifndef RUNGS_AGENT_CUH
#define RUNGS_AGENT_CUH

#include "common/block_scan.cuh"
#include "common/published.cuh"

#include <string.h>

#ifdef RUNGS_EMULATED
constexpr unsigned AGENT_POLLS_MAX = 1000; /* few blocks run at a time, in any order */
#else
constexpr unsigned AGENT_POLLS_MAX = 100000; /* tens of milliseconds */
#endif

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
    /* Waits; false if it has polled long. By one thread. */
    __device__ bool before(size_t tile, State *state) const {
        PublishedWord words[WORDS];
        bool ready = false;
        for (unsigned polls = 0; !ready && polls < AGENT_POLLS_MAX; polls++) {
            ready = true;
#pragma unroll
            for (unsigned w = 0; w < WORDS; w++) ready = published(&befores[tile].words[w], &words[w]) && ready;
        }
        memcpy(state, words, sizeof words);
        return ready;
    }
};

/* What the agent's warps hand to each other: the state of all tiles before `group`. In shared memory, which has no constructors;
 * group begins at 0. */
template <typename State> struct AgentChain {
    PublishedWord words[AgentTiles<State>::WORDS];
    volatile unsigned long long group;
};

/* By all threads of a block: publishes what precedes each tile but the first. Warp w has groups w, w + warps, ... of 32 tiles; it
 * publishes as far as their states have appeared. False for a warp that has polled long. */
template <typename State> __device__ bool agent_run(const AgentTiles<State> &tiles, AgentChain<State> *chain) {
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const size_t last = tiles.count - 1; /* nobody needs its total */
    for (size_t group = threadIdx.x / WARP; group * WARP < last; group += warps) {
        const size_t tile = group * WARP + lane;
        const unsigned count = last - group * WARP < WARP ? (unsigned)(last - group * WARP) : (unsigned)WARP;
        bool ready = tile >= last, known = group == 0;
        State total, before, sum;
        unsigned seen = 0, polls = 0;
        for (unsigned done = 0; done < count; polls++) {
            if (polls == AGENT_POLLS_MAX) return false;
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
            if (lane >= done && lane < seen) tiles.publish_before(tile + 1, all);
            done = seen;
        }
    }
    return true;
}

template <typename State> __device__ State agent_broadcast(const State &state, unsigned lane) {
    PublishedWord words[AgentTiles<State>::WORDS];
    memcpy(words, &state, sizeof state);
#pragma unroll
    for (PublishedWord &word : words) word = __shfl_sync((unsigned)ALL_LANES, word, lane);
    State other;
    memcpy(&other, words, sizeof other);
    return other;
}

/* By a warp that does not wait: publishes what precedes tiles 1 .. `tile`. total_again(t), by all lanes: the total of a tile that
 * has not published it, to the same bits. */
template <typename State, typename TotalAgain>
__device__ void agent_again(const AgentTiles<State> &tiles, size_t tile, const TotalAgain &total_again) {
    const unsigned lane = threadIdx.x % WARP;
    State before = State();
    for (size_t group = 0; group < tile; group += WARP) {
        const unsigned count = tile - group < WARP ? (unsigned)(tile - group) : (unsigned)WARP;
        State total = State();
        const bool ready = lane >= count || tiles.total(group + lane, &total);
        for (unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready); missing; missing &= missing - 1) {
            const unsigned first = (unsigned)__ffs((int)missing) - 1;
            const State again = total_again(group + first);
            if (lane == first) total = again;
        }
        State all = before;
        all.merge(warp_scan<true>(lane < count ? total : State()));
        if (lane < count) tiles.publish_before(group + lane + 1, all);
        before = agent_broadcast(all, count - 1);
    }
}

#endif
