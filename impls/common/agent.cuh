/* agent.cuh - what precedes each tile of a scan, found by one block while the others work: instead of each tile looking back over
 * those before it.
 *
 * A tile's block publishes the total of its elements; the agent's warps read the totals, 32 at a time, scan them and publish what
 * precedes each tile. So a tile polls one line. Which tiles are scanned together is fixed: results do not depend on timing.
 *
 * A total comes in two forms. Numbers, one or two doubles, say all about an ordinary tile, because its length is known, and about
 * what precedes a tile as long as that can be told from its place. A State says all about any tile and merges with any other. An
 * ordinary tile publishes both, its numbers first; others publish AGENT_SEE_STATE in place of the first number. The agent scans
 * numbers until it meets such a tile, from there on states, and numbers again once the state has settled to what numbers can say.
 *
 * CUDA promises no order in which blocks start, so nobody waits without end. A tile's block publishes its total before it waits; if
 * it has polled long, or the agent has, agent_again() does the agent's work for the tiles in question, and has the caller find in
 * the data what is missing. So every block ends, whichever others run beside it, and even alone.
 *
 * Numbers and State are trivially copyable in words of 8 bytes. State has merge(later), and shuffle() of block_scan.cuh knows it;
 * Numbers() and State() are those of no element. Both are published word by word, each word its own flag (published.cuh). What an
 * op has to say is its Rule:
 *
 *     void at(size_t tile);                           tile, tile + 1, ... are scanned next, by lanes 0, 1, ...
 *     Numbers scan(Numbers own);                      of the tiles of lanes 0 .. lane
 *     Numbers after(Numbers before, Numbers run);     of the tiles before lane 0's and those of lanes 0 .. lane
 *     State state_before(Numbers before, size_t tile);     the same as a state
 *     bool settled(State state, size_t tile, Numbers *numbers);   do numbers say all about what precedes the tile? Then they are
 *                                                                 there. */
#pragma once

#include "common/block_scan.cuh"
#include "common/published.cuh"

#include <string.h>

constexpr PublishedWord AGENT_SEE_STATE = 0x7ff8000000000001; /* a NaN that no sum is */

/* What precedes a tile; by_state: the numbers do not count, else the state does not. */
template <typename Numbers, typename State> struct AgentBefore {
    Numbers numbers;
    State state;
    bool by_state;
};

/* What the tiles of one scan exchange; in global memory, emptied before the launch. */
template <typename NumbersType, typename StateType> struct AgentTiles {
    typedef NumbersType Numbers;
    typedef StateType State;
    typedef AgentBefore<Numbers, State> Before;
    static constexpr size_t NUMBERS = sizeof(Numbers) / sizeof(PublishedWord),
                            WORDS = NUMBERS + sizeof(State) / sizeof(PublishedWord);
    static_assert(WORDS * sizeof(PublishedWord) <= sizeof(PublishedLine));
    static constexpr size_t BYTES = sizeof(PublishedLine) + WORDS * sizeof(PublishedWord); /* for each tile */

    PublishedLine *befores; /* of all that precedes a tile: a line for each, its numbers, then its state */
    PublishedWord *totals;  /* of the tile: word w of tile t is w * count + t, in the same order */
    size_t count;

    __device__ void publish_numbers(size_t tile, const Numbers &numbers) const { write_numbers(totals + tile, count, numbers); }
    __device__ void publish_by_state(size_t tile) const { publish(totals + tile, AGENT_SEE_STATE); }
    __device__ void publish_state(size_t tile, const State &state) const {
        publish_words(totals + NUMBERS * count + tile, count, state);
    }
    __device__ void publish_before(size_t tile, const Numbers &numbers) const { write_numbers(befores[tile].words, 1, numbers); }
    __device__ void publish_before(size_t tile, const Before &before) const {
        if (!before.by_state) return publish_before(tile, before.numbers);
        publish(befores[tile].words, AGENT_SEE_STATE);
        publish_words(befores[tile].words + NUMBERS, 1, before.state);
    }
    /* Has the tile published numbers, or that there are none (by_state)? */
    __device__ bool numbers(size_t tile, Numbers *numbers, bool *by_state) const {
        return read_numbers(totals + tile, count, numbers, by_state);
    }
    __device__ bool state(size_t tile, State *state) const {
        return published_words(totals + NUMBERS * count + tile, count, state);
    }
    /* Wait; false if they have polled long. By one thread. The second one where there may be a state. */
    __device__ bool before(size_t tile, Numbers *numbers, bool *by_state) const {
        for (unsigned polls = 0; polls < PUBLISHED_POLLS_MAX; polls++)
            if (read_numbers(befores[tile].words, 1, numbers, by_state)) return true;
        return false;
    }
    __device__ bool before(size_t tile, Before *before) const {
        for (unsigned polls = 0; polls < PUBLISHED_POLLS_MAX; polls++) {
            const bool has_numbers = read_numbers(befores[tile].words, 1, &before->numbers, &before->by_state);
            const bool has_state = published_words(befores[tile].words + NUMBERS, 1, &before->state); /* at once */
            if (has_numbers && (has_state || !before->by_state)) return true;
        }
        return false;
    }

    static __device__ void write_numbers(PublishedWord *to, size_t stride, const Numbers &numbers) {
        PublishedWord words[NUMBERS];
        memcpy(words, &numbers, sizeof numbers);
        if (words[0] == AGENT_SEE_STATE) words[0] = PUBLISHED_NAN;
        publish_words(to, stride, words);
    }
    static __device__ bool read_numbers(const PublishedWord *from, size_t stride, Numbers *numbers, bool *by_state) {
        PublishedWord words[NUMBERS];
        const bool ready = published_words(from, stride, &words);
        memcpy(numbers, words, sizeof words);
        *by_state = words[0] == AGENT_SEE_STATE;
        return ready || *by_state;
    }
};

/* What the agent's warps hand to each other: what precedes `group`. In shared memory, which has no constructors; begin() makes it
 * that of group 0, no element. Volatile: a warp reads what another has written, without a barrier between them. */
template <typename Tiles> struct AgentChain {
    typedef typename Tiles::Before Before;
    typedef typename Tiles::Numbers Numbers;
    volatile PublishedWord numbers[Tiles::NUMBERS], state[Tiles::WORDS - Tiles::NUMBERS];
    volatile bool by_state;
    volatile unsigned long long group;

    __device__ void begin() {
        put({});
        group = 0;
    }
    /* By all lanes, once `group` has come: what precedes it. */
    __device__ Before before() const {
        Before all;
        __threadfence_block();
        get(numbers, &all.numbers);
        get(state, &all.state);
        all.by_state = by_state;
        return all;
    }
    __device__ Numbers numbers_before(bool *sees_state) const {
        Numbers all;
        __threadfence_block();
        get(numbers, &all);
        *sees_state = by_state;
        return all;
    }
    /* By the one thread that knows what precedes the next group. */
    __device__ void hand_on(size_t to, const Before &all) {
        put(all);
        announce(to);
    }
    __device__ void hand_on(size_t to, const Numbers &all) { /* by_state stays false */
        set(numbers, all);
        announce(to);
    }

  private:
    __device__ void put(const Before &all) {
        set(numbers, all.numbers);
        set(state, all.state);
        by_state = all.by_state;
    }
    __device__ void announce(size_t to) {
        __threadfence_block(); /* what precedes it before its number */
        group = to;
    }
    template <size_t WORDS, typename V> static __device__ void set(volatile PublishedWord (&to)[WORDS], const V &value) {
        PublishedWord words[WORDS];
        static_assert(sizeof words == sizeof value);
        memcpy(words, &value, sizeof value);
#pragma unroll
        for (size_t w = 0; w < WORDS; w++) to[w] = words[w];
    }
    template <size_t WORDS, typename V> static __device__ void get(const volatile PublishedWord (&from)[WORDS], V *value) {
        PublishedWord words[WORDS];
        static_assert(sizeof words == sizeof *value);
#pragma unroll
        for (size_t w = 0; w < WORDS; w++) words[w] = from[w];
        memcpy(value, words, sizeof words);
    }
};

/* A tile's total, and those of the tiles of lanes 0 .. lane; by_state: numbers do not say all. */
template <typename Tiles> struct AgentTotal {
    typename Tiles::Numbers numbers = {};
    typename Tiles::State state = {};
    bool by_state = false;

    /* Is it there by now? */
    __device__ bool read(const Tiles &tiles, size_t tile) {
        const bool has_numbers = tiles.numbers(tile, &numbers, &by_state), has_state = tiles.state(tile, &state); /* at once */
        return has_numbers && has_state;
    }
};

/* Where `count` lanes count. A lane's result does not depend on the lanes above it. */
template <typename Tiles, typename Rule>
__device__ AgentTotal<Tiles> agent_scan(const Rule &rule, const AgentTotal<Tiles> &own, unsigned count) {
    const unsigned lane = threadIdx.x % WARP;
    const bool counts = lane < count;
    const unsigned states = __ballot_sync((unsigned)ALL_LANES, counts && own.by_state);
    AgentTotal<Tiles> run;
    run.numbers = rule.scan(counts && !own.by_state ? own.numbers : typename Tiles::Numbers());
    run.state = warp_scan<true>(counts ? own.state : typename Tiles::State());
    run.by_state = states << (WARP - 1 - lane) != 0;
    return run;
}
/* What precedes the tile behind the lane's; first: the tile of lane 0. */
template <typename Tiles, typename Rule>
__device__ typename Tiles::Before agent_after(const Rule &rule, const typename Tiles::Before &before, size_t first,
                                              const AgentTotal<Tiles> &run) {
    typename Tiles::Before all;
    all.by_state = before.by_state || run.by_state;
    all.numbers = rule.after(before.numbers, run.numbers);
    all.state = before.by_state ? before.state : rule.state_before(before.numbers, first);
    all.state.merge(run.state);
    return all;
}

/* Why a warp of the agent has stopped, and where: in the group, with so many tiles done. */
enum AgentStop { AGENT_DONE, AGENT_AT_STATES, AGENT_POLLED_LONG };
struct AgentPlace {
    size_t group;
    unsigned done;
};
template <typename Tiles> __device__ unsigned agent_count(const Tiles &tiles, size_t group) {
    const size_t left = tiles.count - 1 - group * WARP; /* nobody needs the last total */
    return left < WARP ? (unsigned)left : (unsigned)WARP;
}

/* By a warp, where tiles have states: publishes what precedes each tile of a group from a place on, as their totals appear. False
 * if it has polled long. */
template <typename Tiles, typename Rule>
__device__ __noinline__ bool agent_group_by_states(const Tiles tiles, Rule rule, AgentChain<Tiles> *chain, AgentPlace place,
                                                   bool *by_state) {
    const unsigned lane = threadIdx.x % WARP, count = agent_count(tiles, place.group);
    const size_t first = place.group * WARP;
    AgentTotal<Tiles> own, run;
    typename Tiles::Before before = {};
    bool ready = lane >= count, known = false;
    unsigned seen = 0;
    for (unsigned polls = 0; place.done < count; polls++) {
        if (polls == PUBLISHED_POLLS_MAX) return false;
        if (!ready) ready = own.read(tiles, first + lane);
        const unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready);
        const unsigned now = missing ? (unsigned)__ffs((int)missing) - 1 : (unsigned)WARP;
        if (!known && __all_sync((unsigned)ALL_LANES, chain->group == place.group)) {
            before = chain->before();
            known = true;
        }
        if (now > seen && (known || now >= count)) { /* a scan of states takes long: as few as possible */
            seen = now < count ? now : count;
            run = agent_scan(rule, own, seen);
        }
        if (!known || seen <= place.done) continue;
        __syncwarp(); /* all lanes have read the chain, before one writes it */
        const typename Tiles::Before all = agent_after(rule, before, first, run);
        if (seen == count && lane == count - 1) {
            typename Tiles::Before next = all;
            if (all.by_state && rule.settled(all.state, first + count, &next.numbers)) next.by_state = false;
            chain->hand_on(place.group + 1, next);
        }
        if (lane >= place.done && lane < seen) tiles.publish_before(first + lane + 1, all);
        place.done = seen;
    }
    *by_state = before.by_state || __any_sync((unsigned)ALL_LANES, lane < count && own.by_state);
    return true;
}

/* By a warp: its groups, as long as numbers do. Not inlined: a tile's block shall have its registers for itself. */
template <typename Tiles, typename Rule>
__device__ __noinline__ AgentStop agent_groups_by_numbers(const Tiles tiles, Rule rule, AgentChain<Tiles> *chain,
                                                          AgentPlace *place) {
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    for (size_t group = place->group; group * WARP < tiles.count - 1; group += warps) {
        const size_t tile = group * WARP + lane;
        const unsigned count = agent_count(tiles, group);
        rule.at(group * WARP);
        typename Tiles::Numbers own = {}, run = {}, before = {};
        bool ready = lane >= count, by_state = false, known = false, stop = false;
        unsigned seen = 0, done = 0;
        for (unsigned polls = 0; done < count; polls++) {
            if (polls == PUBLISHED_POLLS_MAX) return AGENT_POLLED_LONG;
            if (!ready) ready = tiles.numbers(tile, &own, &by_state);
            const unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready);
            const unsigned now = missing ? (unsigned)__ffs((int)missing) - 1 : (unsigned)WARP;
            if (now > seen) {
                seen = now < count ? now : count;
                run = rule.scan(lane < seen && !by_state ? own : typename Tiles::Numbers());
                stop = __any_sync((unsigned)ALL_LANES, lane < seen && by_state);
            }
            if (!known && __all_sync((unsigned)ALL_LANES, chain->group == group)) {
                bool sees_state;
                before = chain->numbers_before(&sees_state);
                stop = sees_state || stop;
                known = true;
            }
            if (stop) { /* its states can be scanned before the chain is here */
                *place = {group, done};
                return AGENT_AT_STATES;
            }
            if (!known || seen == done) continue;
            __syncwarp(); /* all lanes have read the chain, before one writes it */
            const typename Tiles::Numbers all = rule.after(before, run);
            if (seen == count && lane == count - 1) chain->hand_on(group + 1, all);
            if (lane >= done && lane < seen) tiles.publish_before(tile + 1, all);
            done = seen;
        }
    }
    return AGENT_DONE;
}

/* By all threads of a block: publishes what precedes each tile but the first. Warp w has groups w, w + warps, ... of 32 tiles; it
 * publishes as far as their totals have appeared. False for a warp that has polled long. */
template <typename Tiles, typename Rule> __device__ bool agent_run(const Tiles &tiles, Rule rule, AgentChain<Tiles> *chain) {
    AgentPlace place = {threadIdx.x / WARP, 0};
    bool by_state = false; /* of the warp's last group: the next one is likely to need states too */
    for (;;) {
        const AgentStop stop = by_state ? AGENT_AT_STATES : agent_groups_by_numbers(tiles, rule, chain, &place);
        if (stop != AGENT_AT_STATES) return stop == AGENT_DONE;
        if (place.group * WARP >= tiles.count - 1) return true;
        rule.at(place.group * WARP);
        if (!agent_group_by_states(tiles, rule, chain, place, &by_state)) return false;
        place = {place.group + blockDim.x / WARP, 0};
    }
}

template <typename T> __device__ T agent_broadcast(const T &value, unsigned lane) {
    constexpr size_t WORDS = (sizeof(T) + sizeof(unsigned) - 1) / sizeof(unsigned);
    unsigned words[WORDS] = {};
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (unsigned &word : words) word = __shfl_sync((unsigned)ALL_LANES, word, lane);
    T other;
    memcpy(&other, words, sizeof other);
    return other;
}

/* By a warp that does not wait: publishes what precedes tiles 1 .. `tile`. publish_again(t), by all lanes: publishes the total of a
 * tile whose block has not, to the same bits. */
template <typename Tiles, typename Rule, typename PublishAgain>
__device__ void agent_again(const Tiles &tiles, Rule rule, size_t tile, const PublishAgain &publish_again) {
    const unsigned lane = threadIdx.x % WARP;
    typename Tiles::Before before = {};
    for (size_t first = 0; first < tile; first += WARP) {
        const unsigned count = tile - first < WARP ? (unsigned)(tile - first) : (unsigned)WARP;
        rule.at(first);
        AgentTotal<Tiles> own;
        const bool counts = lane < count, ready = !counts || own.read(tiles, first + lane);
        for (unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready); missing; missing &= missing - 1)
            publish_again(first + (unsigned)__ffs((int)missing) - 1);
        __syncwarp();
        if (!ready) (void)own.read(tiles, first + lane);
        typename Tiles::Before all = agent_after(rule, before, first, agent_scan(rule, own, count));
        if (counts) tiles.publish_before(first + lane + 1, all);
        if (all.by_state && rule.settled(all.state, first + lane + 1, &all.numbers)) all.by_state = false;
        before = agent_broadcast(all, count - 1);
    }
}
