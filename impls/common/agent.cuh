/* agent.cuh - the states of tiles, scanned by one block while the others work: instead of each tile looking back over those before
 * it.
 *
 * A tile's block publishes the state of its elements; the agent's warps read the states, 32 at a time, scan them and publish the
 * state of all that precedes each tile. So a tile polls one line. Which tiles are scanned together is fixed: results do not depend
 * on timing.
 *
 * CUDA promises no order in which blocks start, so nobody waits without end. A tile's block publishes its total before it waits; if
 * it has polled long, or the agent has, agent_again() does the agent's work for the tiles in question, and has the caller find in
 * the data what is missing. So every block ends, whichever others run beside it, and even alone.
 *
 * A State is trivially copyable in words of 8 bytes, has merge(later), and shuffle() of block_scan.cuh knows it; State() is that of
 * no element. All words are published, each its own flag (published.cuh). Where a finite
 * number says all about a tile (AGENT_BY_SUMS), it suffices to publish that: the agent scans numbers as far as there are no others,
 * and makes states of them. Rule, else not used:
 *
 *     double steps[AGENT_STEPS];         what a sum is worth 1, 2, 4, 8, 16 tiles later
 *     State of_tile(double sum);         the state of a tile with this sum
 *     State of_run(double sum);          of the tiles of lanes 0 .. lane, whose sums, each with its worth, are `sum` */
#ifndef RUNGS_AGENT_CUH
#define RUNGS_AGENT_CUH

#include "common/block_scan.cuh"
#include "common/published.cuh"

#include <string.h>

enum { AGENT_STEPS = 5 };
template <typename State> constexpr bool AGENT_BY_SUMS = false;

/* What the tiles of one scan exchange; in global memory, emptied before the launch. */
template <typename State> struct AgentTiles {
    static constexpr unsigned WORDS = sizeof(State) / sizeof(PublishedWord);
    static_assert(sizeof(State) % sizeof(PublishedWord) == 0 && sizeof(State) <= sizeof(PublishedLine));
    PublishedLine *befores; /* of all that precedes a tile: a line for each */
    PublishedWord *totals;  /* of the tile: word w of tile t is w * count + t; behind them its sum, NaN if there is a state */
    size_t count;

    static constexpr size_t BYTES = sizeof(PublishedLine) + sizeof(State) + sizeof(PublishedWord); /* for each tile */

    __device__ void publish_sum(size_t tile, double sum) const {
        publish(totals + WORDS * count + tile, (PublishedWord)__double_as_longlong(sum));
    }
    __device__ void publish_total(size_t tile, const State &state) const {
        PublishedWord words[WORDS];
        memcpy(words, &state, sizeof state);
        if (AGENT_BY_SUMS<State>) publish_sum(tile, nan(""));
#pragma unroll
        for (unsigned w = 0; w < WORDS; w++) publish(totals + w * count + tile, words[w]);
    }
    __device__ void publish_before(size_t tile, const State &state) const {
        PublishedWord words[WORDS];
        memcpy(words, &state, sizeof state);
#pragma unroll
        for (unsigned w = 0; w < WORDS; w++) publish(&befores[tile].words[w], words[w]);
    }
    /* A state, or a finite sum. */
    __device__ bool total(size_t tile, State *state, double *sum) const {
        PublishedWord words[WORDS], number;
        if (AGENT_BY_SUMS<State>) {
            if (!published(totals + WORDS * count + tile, &number)) return false;
            *sum = __longlong_as_double((long long)number);
            if (isfinite(*sum)) return true;
        }
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
        for (unsigned polls = 0; !ready && polls < PUBLISHED_POLLS_MAX; polls++) {
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

/* Of the tiles of lanes 0 .. lane, as far as lane < count. A lane's result does not depend on the lanes above it. */
template <typename State, typename Rule>
__device__ State agent_scan(const Rule &rule, const State &total, double sum, unsigned count) {
    const bool counts = threadIdx.x % WARP < count;
    if (!AGENT_BY_SUMS<State>) return warp_scan<true>(counts ? total : State());
    const bool has_state = counts && !isfinite(sum);
    const unsigned states = __ballot_sync((unsigned)ALL_LANES, has_state);
    double run = counts && !has_state ? sum : 0;
#pragma unroll
    for (unsigned s = 0; s < AGENT_STEPS; s++) {
        const double other = shuffle_value<true>(run, 1u << s);
        if (threadIdx.x % WARP >= 1u << s) run = rule.steps[s] * other + run;
    }
    const State by_sums = rule.of_run(run);
    if (states == 0) return by_sums;
    const State by_states = warp_scan<true>(!counts ? State() : has_state ? total : rule.of_tile(sum));
    return states << (WARP - 1 - threadIdx.x % WARP) == 0 ? by_sums : by_states;
}

/* By all threads of a block: publishes what precedes each tile but the first. Warp w has groups w, w + warps, ... of 32 tiles; it
 * publishes as far as their states have appeared. False for a warp that has polled long. */
template <typename State, typename Rule>
__device__ bool agent_run(const AgentTiles<State> &tiles, const Rule &rule, AgentChain<State> *chain) {
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const size_t last = tiles.count - 1; /* nobody needs its total */
    for (size_t group = threadIdx.x / WARP; group * WARP < last; group += warps) {
        const size_t tile = group * WARP + lane;
        const unsigned count = last - group * WARP < WARP ? (unsigned)(last - group * WARP) : (unsigned)WARP;
        bool ready = tile >= last, known = group == 0;
        State total, scanned;
        double sum = 0;
        unsigned seen = 0, polls = 0;
        for (unsigned done = 0; done < count; polls++) {
            if (polls == PUBLISHED_POLLS_MAX) return false;
            if (!ready) ready = tiles.total(tile, &total, &sum);
            const unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready);
            const unsigned now = missing ? (unsigned)__ffs((int)missing) - 1 : count;
            if (now > seen) {
                seen = now < count ? now : count;
                scanned = agent_scan(rule, total, sum, seen);
            }
            if (!known && __all_sync((unsigned)ALL_LANES, chain->group == group)) {
                __threadfence_block();
                known = true;
            }
            if (!known || seen == done) continue;
            State all = State();
            if (group > 0) memcpy(&all, chain->words, sizeof all);
            all.merge(scanned);
            __syncwarp(); /* all lanes have read the chain, before one writes it */
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

/* By a warp that does not wait: publishes what precedes tiles 1 .. `tile`. publish_again(t), by all lanes: publishes the total of a
 * tile whose block has not, to the same bits. */
template <typename State, typename Rule, typename PublishAgain>
__device__ void agent_again(const AgentTiles<State> &tiles, const Rule &rule, size_t tile, const PublishAgain &publish_again) {
    const unsigned lane = threadIdx.x % WARP;
    State before = State();
    for (size_t group = 0; group < tile; group += WARP) {
        const unsigned count = tile - group < WARP ? (unsigned)(tile - group) : (unsigned)WARP;
        State total = State();
        double sum = 0;
        const bool ready = lane >= count || tiles.total(group + lane, &total, &sum);
        for (unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready); missing; missing &= missing - 1)
            publish_again(group + (unsigned)__ffs((int)missing) - 1);
        __syncwarp();
        if (!ready) (void)tiles.total(group + lane, &total, &sum);
        State all = before;
        all.merge(agent_scan(rule, total, sum, count));
        if (lane < count) tiles.publish_before(group + lane + 1, all);
        before = agent_broadcast(all, count - 1);
    }
}

#endif
