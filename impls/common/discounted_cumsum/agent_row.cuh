/* agent_row.cuh - the sums that precede each tile of a row, for variants whose blocks have a tile each and do not look back: the
 * row's first block, its agent, reads the totals that tiles publish, 32 at a time, scans them, and publishes what precedes each
 * tile. A tile polls one word, and each polled word has a line of 128 bytes of its own.
 *
 *     agent_row_block<T, RIGHT, ITEMS>(view, plan, &chain);          block 0 of a row: agent_block_place() is 0; then it ends
 *     publish_number(plan.totals + at, total);                       block t + 1: the total of its tile, before it waits
 *     published_number(plan.befores[at].words, &sum)                 ... and what precedes it, if that is there by now
 *     agent_row_again<T, RIGHT, ITEMS>(view, plan, tile)             by one warp: the same, if it is still not there
 *
 * Progress: CUDA promises no order in which blocks start. A block publishes its total before it waits, and no wait is endless: an
 * agent that has polled long adds up a missing tile from its elements, and a tile's block that has polled long does the agent's
 * work for the tiles before its own. So every block ends, whichever others run beside it, and even alone. Which tiles are scanned
 * together is fixed, and a tile that another block adds up gives the same bits, so sums do not depend on timing.
 *
 * T, RIGHT, ITEMS: of the sums in tile.cuh; all elements of a row have one factor, and a thread has ITEMS of them. */
#pragma once

#include "common/discounted_cumsum/tile.cuh"
#include "common/published.cuh"

struct AgentRowPlan {
    PublishedWord *totals;  /* [rows][tiles] */
    PublishedLine *befores; /* [rows][tiles]: the sum of all tiles before it, in the first word */
    unsigned tiles;         /* of a row */
    unsigned length, ahead;
    bool packed;
};

/* Of the calling block: 0 is the row's agent, block t + 1 has tile t. */
static __device__ inline unsigned agent_block_row(const AgentRowPlan &plan) {
    return blockIdx.x / (plan.tiles + 1);
}
static __device__ inline unsigned agent_block_place(const AgentRowPlan &plan) {
    return blockIdx.x % (plan.tiles + 1);
}

template <typename T> static __device__ SumOf<T> agent_block_factor(const DiscountView<T> &view, const AgentRowPlan &plan) {
    return affine_factor(view.factor(agent_block_row(plan), 0));
}

/* What the warps of an agent hand to each other: the sum of all groups of tiles before `group`. */
struct AgentChain {
    volatile double sum;
    volatile unsigned long long group;
};

/* What an agent knows of a row: powers for its lanes' scan of 32 totals, and where the words are. */
struct AgentRow {
    const PublishedWord *totals;
    PublishedLine *befores;
    double steps[TILE_WARP_STEPS];
    double weight; /* of what precedes a group of 32 tiles, behind this lane's tile */

    __device__ AgentRow(const AgentRowPlan &plan, double factor)
        : totals(plan.totals + (size_t)agent_block_row(plan) * plan.tiles),
          befores(plan.befores + (size_t)agent_block_row(plan) * plan.tiles),
          weight(tile_power(factor, plan.length * (threadIdx.x % WARP + 1))) {
#pragma unroll
        for (unsigned s = 0; s < TILE_WARP_STEPS; s++) steps[s] = tile_power(factor, plan.length << s);
    }
    /* The sum of the tiles of lanes 0 .. lane. */
    __device__ double scan(double sum) const {
#pragma unroll
        for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
            const double other = shuffle_value<true>(sum, 1u << s);
            if (threadIdx.x % WARP >= 1u << s) sum = steps[s] * other + sum;
        }
        return sum;
    }
};

/* By all threads of a block: publishes what precedes tiles 1 .. `tiles`. Warp w has groups w, w + warps, ... of 32 tiles; it reads
 * their totals as they appear, and publishes as far as they reach. False for a warp that has polled long. */
static __device__ inline bool agent_row_scan(const AgentRow &row, unsigned tiles, AgentChain *chain) {
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    for (unsigned group = threadIdx.x / WARP; group * WARP < tiles; group += warps) {
        const unsigned tile = group * WARP + lane;
        const unsigned count = tiles - group * WARP < WARP ? tiles - group * WARP : (unsigned)WARP;
        bool ready = tile >= tiles, known = group == 0;
        double total = 0, before = 0, sum = 0;
        for (unsigned seen = 0, done = 0, polls = 0; done < count; polls++) {
            if (polls == PUBLISHED_POLLS_MAX) return false;
            if (!ready) ready = published_number(row.totals + tile, &total);
            const unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready),
                           now = missing ? (unsigned)__ffs((int)missing) - 1 : WARP;
            if (now > seen) {
                seen = now < count ? now : count;
                sum = row.scan(lane < seen ? total : 0);
            }
            if (!known) known = __all_sync((unsigned)ALL_LANES, chain->group == group);
            if (!known || seen == done) continue;
            if (group > 0 && done == 0) {
                __threadfence_block();
                before = chain->sum;
            }
            __syncwarp(); /* all lanes have read, before one writes */
            const double all = row.weight * before + sum;
            if (seen == count && lane == count - 1) {
                chain->sum = all;
                __threadfence_block(); /* the sum before the number of the group */
                chain->group = group + 1;
            }
            if (lane >= done && lane < seen) publish_number(row.befores[tile + 1].words, all);
            done = seen;
        }
    }
    return true;
}

/* The agent's work by one warp that has polled long and does not wait: totals that are missing it finds itself. Returns the sum of
 * the first `tiles` tiles. */
template <typename T, bool RIGHT, unsigned ITEMS>
static __device__ __noinline__ double agent_row_again(const DiscountView<T> &view, const AgentRowPlan &plan, unsigned tiles) {
    const AgentRow row(plan, (double)agent_block_factor(view, plan));
    const unsigned lane = threadIdx.x % WARP;
    double before = 0;
    for (unsigned group = 0; group < tiles; group += WARP) {
        const unsigned count = tiles - group < WARP ? tiles - group : (unsigned)WARP;
        double total = 0;
        const bool ready = lane >= count || published_number(row.totals + group + lane, &total);
        for (unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready); missing; missing &= missing - 1) {
            const unsigned first = (unsigned)__ffs((int)missing) - 1;
            const double again =
                tile_total_again<T, RIGHT, ITEMS>(view, agent_block_row(plan), group + first, plan.tiles, plan.length);
            if (lane == first) total = again;
        }
        const double all = row.weight * before + row.scan(lane < count ? total : 0);
        if (lane < count) publish_number(row.befores[group + lane + 1].words, all);
        before = __shfl_sync((unsigned)ALL_LANES, all, count - 1);
    }
    return before;
}

/* By all threads of a row's first block. */
template <typename T, bool RIGHT, unsigned ITEMS>
static __device__ void agent_row_block(const DiscountView<T> &view, const AgentRowPlan &plan, AgentChain *chain) {
    if (threadIdx.x == 0) chain->group = 0;
    __syncthreads();
    const bool done = agent_row_scan(AgentRow(plan, (double)agent_block_factor(view, plan)), plan.tiles - 1, chain);
    if (__syncthreads_or(!done) && threadIdx.x < WARP) (void)agent_row_again<T, RIGHT, ITEMS>(view, plan, plan.tiles - 1);
}

/* The words of all rows in scratch, which are to be emptied by a memset before each launch. */
static inline size_t agent_row_bytes(size_t rows, size_t tiles) {
    return rows * tiles * (sizeof(PublishedLine) + sizeof(PublishedWord));
}
static inline AgentRowPlan agent_row_plan(void *words, size_t rows, size_t tiles, unsigned length) {
    PublishedLine *const befores = (PublishedLine *)words;
    AgentRowPlan plan = {};
    plan.totals = (PublishedWord *)(befores + rows * tiles);
    plan.befores = befores;
    plan.tiles = (unsigned)tiles;
    plan.length = length;
    return plan;
}
