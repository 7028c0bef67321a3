/* agent.cuh - what precedes each tile of a scan, found by one block while the others work: instead of each tile looking back over
 * those before it.
 *
 * A tile's block publishes the total of its elements; the agent's warps read the totals, 32 at a time, scan them and publish what
 * precedes each tile. So a tile polls one line. Which tiles are scanned together is fixed: results do not depend on timing.
 *
 * A total comes in three forms. Numbers, one or two doubles, say all about an ordinary tile, because its length is known, and about
 * what precedes a tile as long as that can be told from its place. More are the numbers that say what its place does not tell. A
 * State says all about any tile and merges with any other. An ordinary tile publishes its numbers, then its state; others publish
 * AGENT_SEE_MORE or AGENT_SEE_STATE in place of the first number. The agent scans Numbers, as few as they are, until it meets
 * another tile, from there on More; at a tile that has only a state it scans states, and More again once the state has settled to
 * what these can say.
 *
 * CUDA promises no order in which blocks start, so nobody waits without end. A tile's block publishes its total before it waits; if
 * it has polled long, or the agent has, agent_again() does the agent's work for the tiles in question, and has the caller find in
 * the data what is missing. So every block ends, whichever others run beside it, and even alone.
 *
 * All are trivially copyable in words of 8 bytes. State has merge(later), and shuffle() of block_scan.cuh knows it; Numbers convert
 * to More, which may be the same type; Numbers(), More() and State() are those of no element. They are published word by word, each
 * word its own flag (published.cuh). What an op has to say is its Rule; of Numbers that are More the same bits come:
 *
 *     void at(size_t tile);                           tile, tile + 1, ... are scanned next, by lanes 0, 1, ...
 *     Numbers scan(Numbers own);                      of the tiles of lanes 0 .. lane
 *     Numbers after(Numbers before, Numbers run);     of the tiles before lane 0's and those of lanes 0 .. lane
 *     More scan(More own), after(More before, More run);   the same
 *     State state_before(More before, size_t tile);        the same as a state
 *     bool settled(State state, size_t tile, More *more);  do these say all about what precedes the tile? Then they are there. */
#pragma once

#include "common/block_scan.cuh"
#include "common/published.cuh"

#include <string.h>
#include <type_traits>

constexpr PublishedWord AGENT_SEE_STATE = 0x7ff8000000000001, AGENT_SEE_MORE = 0x7ff8000000000002; /* NaNs that no sum is */

/* What precedes a tile; by_state: the numbers do not count, else the state does not. */
template <typename More, typename State> struct AgentBefore {
    More more;
    State state;
    bool by_state;
};

/* What the tiles of one scan exchange; in global memory, emptied before the launch. */
template <typename NumbersType, typename MoreType, typename StateType> struct AgentTiles {
    typedef NumbersType Numbers;
    typedef MoreType More;
    typedef StateType State;
    typedef AgentBefore<More, State> Before;
    /* The words of each, and where More and State begin. */
    static constexpr size_t NUMBERS = sizeof(Numbers) / sizeof(PublishedWord), MORE = sizeof(More) / sizeof(PublishedWord),
                            STATE = sizeof(State) / sizeof(PublishedWord), AT_STATE = NUMBERS + MORE, WORDS = AT_STATE + STATE;
    static_assert(WORDS * sizeof(PublishedWord) <= sizeof(PublishedLine));
    static constexpr size_t BYTES = sizeof(PublishedLine) + WORDS * sizeof(PublishedWord); /* for each tile */

    PublishedLine *befores; /* of all that precedes a tile: a line for each */
    PublishedWord *totals;  /* of the tile: word w of tile t is w * count + t, in the same order */
    size_t count;

    template <typename Form> __device__ void publish_total(size_t tile, const Form &total) const {
        write(totals + tile, count, total);
    }
    __device__ void publish_by_state(size_t tile) const { publish(totals + tile, AGENT_SEE_STATE); }
    __device__ void publish_state(size_t tile, const State &state) const {
        publish_words(totals + AT_STATE * count + tile, count, state);
    }
    template <typename Form> __device__ void publish_before(size_t tile, const Form &before) const {
        write(befores[tile].words, 1, before);
    }
    __device__ void publish_before(size_t tile, const Before &before) const {
        if (!before.by_state) return publish_before(tile, before.more);
        publish(befores[tile].words, AGENT_SEE_STATE);
        publish_words(befores[tile].words + AT_STATE, 1, before.state);
    }
    /* Has the tile published a total of this form, or that another one says it (other)? */
    template <typename Form> __device__ bool total(size_t tile, Form *total, bool *other) const {
        return read(totals + tile, count, total, other);
    }
    __device__ bool state(size_t tile, State *state) const {
        return published_words(totals + AT_STATE * count + tile, count, state);
    }
    /* Wait; false if they have polled long. By one thread. The second one where it may not be numbers. */
    __device__ bool before(size_t tile, Numbers *numbers, bool *other) const {
        for (unsigned polls = 0; polls < PUBLISHED_POLLS_MAX; polls++)
            if (read(befores[tile].words, 1, numbers, other)) return true;
        return false;
    }
    __device__ bool before(size_t tile, Before *before) const {
        for (unsigned polls = 0; polls < PUBLISHED_POLLS_MAX; polls++) {
            const bool told = read(befores[tile].words, 1, &before->more, &before->by_state);
            const bool has_state = published_words(befores[tile].words + AT_STATE, 1, &before->state); /* at once */
            if (told && (has_state || !before->by_state)) return true;
        }
        return false;
    }

  private:
    template <typename Form> static __device__ void write(PublishedWord *to, size_t stride, const Form &total) {
        if constexpr (std::is_same_v<Form, Numbers>) {
            PublishedWord words[NUMBERS];
            memcpy(words, &total, sizeof total);
            if (words[0] == AGENT_SEE_STATE || words[0] == AGENT_SEE_MORE) words[0] = PUBLISHED_NAN;
            publish_words(to, stride, words);
        } else {
            publish(to, AGENT_SEE_MORE);
            publish_words(to + NUMBERS * stride, stride, total);
        }
    }
    template <typename Form> static __device__ bool read(const PublishedWord *from, size_t stride, Form *total, bool *other) {
        PublishedWord words[NUMBERS];
        Numbers numbers;
        const bool has_numbers = published_words(from, stride, &words);
        memcpy(&numbers, words, sizeof words);
        const bool by_more = words[0] == AGENT_SEE_MORE, by_state = words[0] == AGENT_SEE_STATE;
        if constexpr (std::is_same_v<Form, Numbers>) {
            *total = numbers;
            *other = by_more || by_state;
            return has_numbers || *other;
        } else {
            const bool has_more = published_words(from + NUMBERS * stride, stride, total); /* at once */
            if (!by_more) *total = numbers;
            *other = by_state;
            return by_more ? has_more : has_numbers || by_state;
        }
    }
};

/* What the agent's warps hand to each other: what precedes `group`. In shared memory, which has no constructors; begin() makes it
 * that of group 0, no element. Volatile: a warp reads what another has written, without a barrier between them. */
template <typename Tiles> struct AgentChain {
    typedef typename Tiles::Before Before;
    typedef typename Tiles::Numbers Numbers;
    typedef typename Tiles::More More;
    volatile PublishedWord numbers[Tiles::NUMBERS], more[Tiles::MORE], state[Tiles::STATE];
    volatile bool by_more, by_state; /* neither: the numbers count, else more or the state */
    volatile unsigned long long group;

    __device__ void begin() {
        set(numbers, Numbers());
        by_more = false;
        by_state = false;
        group = 0;
    }
    /* By all lanes, once `group` has come: what precedes it, if it has this form; else other. */
    template <typename Form> __device__ void before(Form *all, bool *other) const {
        Numbers few;
        __threadfence_block();
        get(numbers, &few);
        *all = few;
        *other = by_state || (std::is_same_v<Form, Numbers> && by_more);
        if constexpr (!std::is_same_v<Form, Numbers>)
            if (by_more) get(more, all);
    }
    __device__ Before before() const {
        Before all = {};
        before(&all.more, &all.by_state);
        if (all.by_state) get(state, &all.state);
        return all;
    }
    /* By the one thread that knows what precedes the next group. */
    template <typename Form> __device__ void hand_on(size_t to, const Form &all) { /* by_state stays false */
        put(all);
        announce(to);
    }
    __device__ void hand_on(size_t to, const Before &all) {
        put(all.more);
        set(state, all.state);
        by_state = all.by_state;
        announce(to);
    }

  private:
    template <typename Form> __device__ void put(const Form &all) {
        if constexpr (std::is_same_v<Form, Numbers>) {
            set(numbers, all);
        } else {
            set(more, all);
            by_more = true;
        }
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
    typename Tiles::More more = {};
    typename Tiles::State state = {};
    bool by_state = false;

    /* Is it there by now? */
    __device__ bool read(const Tiles &tiles, size_t tile) {
        const bool told = tiles.total(tile, &more, &by_state), has_state = tiles.state(tile, &state); /* at once */
        return told && has_state;
    }
};

/* Where `count` lanes count. A lane's result does not depend on the lanes above it. */
template <typename Tiles, typename Rule>
__device__ AgentTotal<Tiles> agent_scan(const Rule &rule, const AgentTotal<Tiles> &own, unsigned count) {
    const unsigned lane = threadIdx.x % WARP;
    const bool counts = lane < count;
    const unsigned states = __ballot_sync((unsigned)ALL_LANES, counts && own.by_state);
    AgentTotal<Tiles> run;
    run.more = rule.scan(counts && !own.by_state ? own.more : typename Tiles::More());
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
    all.more = rule.after(before.more, run.more);
    all.state = before.by_state ? before.state : rule.state_before(before.more, first);
    all.state.merge(run.state);
    return all;
}

/* Why a warp of the agent has stopped, and where: in the group, with so many tiles done. */
enum AgentStop { AGENT_DONE, AGENT_AT_OTHER, AGENT_POLLED_LONG };
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
            if (all.by_state && rule.settled(all.state, first + count, &next.more)) next.by_state = false;
            chain->hand_on(place.group + 1, next);
        }
        if (lane >= place.done && lane < seen) tiles.publish_before(first + lane + 1, all);
        place.done = seen;
    }
    *by_state = before.by_state || __any_sync((unsigned)ALL_LANES, lane < count && own.by_state);
    return true;
}

/* By a warp: its groups from a place on, as long as this form does. Not inlined: a tile's block shall have its registers for
 * itself. */
template <typename Form, typename Tiles, typename Rule>
__device__ __noinline__ AgentStop agent_groups(const Tiles tiles, Rule rule, AgentChain<Tiles> *chain, AgentPlace *place) {
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    unsigned done = place->done;
    for (size_t group = place->group; group * WARP < tiles.count - 1; group += warps, done = 0) {
        const size_t tile = group * WARP + lane;
        const unsigned count = agent_count(tiles, group);
        rule.at(group * WARP);
        Form run = {};
        bool known = false, stop = false;
        unsigned seen = done;
        for (unsigned polls = 0; done < count; polls++) {
            if (polls == PUBLISHED_POLLS_MAX) return AGENT_POLLED_LONG;
            if (seen < count) { /* all totals are read again at each poll: kept, they would be spilled to local memory */
                Form own = {};
                bool other = false;
                const bool ready = lane >= count || tiles.total(tile, &own, &other);
                const unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready);
                const unsigned now = missing ? (unsigned)__ffs((int)missing) - 1 : (unsigned)WARP;
                if (now > seen) {
                    seen = now < count ? now : count;
                    run = rule.scan(lane < seen && !other ? own : Form());
                    stop = __any_sync((unsigned)ALL_LANES, lane < seen && other);
                }
            }
            known = known || __all_sync((unsigned)ALL_LANES, chain->group == group);
            if (!stop && (!known || seen == done)) continue;
            Form before = {};
            if (!stop) chain->before(&before, &stop);
            if (stop) { /* its states can be scanned before the chain is here */
                *place = {group, done};
                return AGENT_AT_OTHER;
            }
            __syncwarp(); /* all lanes have read the chain, before one writes it */
            const Form all = rule.after(before, run);
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
    AgentStop stop = agent_groups<typename Tiles::Numbers>(tiles, rule, chain, &place);
    bool by_state = false; /* of the warp's last group: the next one is likely to need states too */
    while (stop == AGENT_AT_OTHER) {
        if (!by_state) stop = agent_groups<typename Tiles::More>(tiles, rule, chain, &place);
        if (stop != AGENT_AT_OTHER) break;
        if (place.group * WARP >= tiles.count - 1) return true;
        rule.at(place.group * WARP);
        if (!agent_group_by_states(tiles, rule, chain, place, &by_state)) return false;
        place = {place.group + blockDim.x / WARP, 0};
    }
    return stop == AGENT_DONE;
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
        if (all.by_state && rule.settled(all.state, first + lane + 1, &all.more)) all.by_state = false;
        before = agent_broadcast(all, count - 1);
    }
}
