/* _tile_moments.cuh - variances for cuda_agent_scan, over tiles without NaN and infinities, for adjust=true and alpha <= 1/2. The
 * weights of a run follow from its length, so a mean and a sum of squares about it say all, and runs are joined (Chan, Golub and
 * LeVeque 1979) by shares that a table holds: no division, no states of threads. */
#pragma once

#include "_tile_means.cuh"
#include "common/square_roots.cuh"

enum { MOMENTS_WARP_STEPS = 3 /* of a block of 8 warps */, ROOTS = 8 /* of a thread at once */ };

/* Numbers of agent.cuh: the weighted mean, the sum of w (x - mean)^2. The last element of a run has the weight 1. */
struct RunMoments {
    double mean, squares;
};

/* Of two runs, where the later one is the heavier: the earlier one's share in the weight of both, that times the later one's
 * weight, and the decay of the earlier one. */
static __device__ RunMoments joined(const RunMoments &earlier, const RunMoments &later, double share, double pair, double decay) {
    const double delta = later.mean - earlier.mean;
    return {later.mean - share * delta, decay * earlier.squares + later.squares + pair * delta * delta};
}

/* Runs of so many units: decay, sum of weights, and its reciprocal. The decay is no product: as many factors would err as the bound
 * allows, while the sum, which the squares are divided by, does not err with them. */
struct RunWeights {
    double decays[WARP + 1], sums[WARP + 1], shares[WARP + 1];
};
/* By a warp. */
static __device__ void run_weights(const EwmCase &rule, unsigned unit, RunWeights *weights) {
    const unsigned lane = threadIdx.x % WARP, runs = lane + 1;
    const double sum = weights_of(rule, (size_t)unit * runs);
    weights->decays[runs] = exp((double)(unit * runs) * rule.log_q);
    weights->sums[runs] = sum;
    weights->shares[runs] = 1 / sum;
    if (lane > 0) return;
    weights->decays[0] = 1;
    weights->sums[0] = weights->shares[0] = 0;
}

/* Of the runs of lanes 0 .. lane, each a unit long. A lane's result does not depend on the lanes above it. */
static __device__ RunMoments lanes_joined(const RunWeights &weights, RunMoments run, unsigned steps) {
    const unsigned lane = threadIdx.x % WARP;
#pragma unroll
    for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
        if (s >= steps) break;
        const unsigned later = 1u << s;
        const RunMoments other = {shuffle_value<true>(run.mean, later), shuffle_value<true>(run.squares, later)};
        if (lane < later) continue;
        const unsigned earlier = lane + 1 - later < later ? lane + 1 - later : later;
        const double share = weights.decays[later] * weights.sums[earlier] * weights.shares[later + earlier];
        run = joined(other, run, share, weights.sums[later] * share, weights.decays[later]);
    }
    return run;
}

static __device__ double moments_pairs(const EwmCase &rule, double weight) {
    return weight * (weight - 1) / (1 + rule.q); /* sum of q^j q^k over j < k */
}
static __device__ EwmDecayed<WeightedMoments> state_of(const EwmDecayed<WeightedMoments> &, const EwmCase &rule,
                                                       const FiniteRun &run, const RunMoments &total) {
    EwmDecayed<WeightedMoments> state;
    state.bag = {run.weight, moments_pairs(rule, run.weight), total.mean, total.squares};
    state.carried = run.first ? affine_cut<double>() : run.decay;
    state.count = run.count;
    return state;
}
static __device__ bool settled(const EwmCase &rule, const EwmDecayed<WeightedMoments> &before, RunMoments *numbers) {
    *numbers = {before.bag.mean, before.bag.squares};
    return rule.adjust && before.gap == 1 && is_settled(rule, before.bag.weight) && before.count + 1 >= rule.min_periods;
}
/* nan=decay with adjust=false: numbers never say all. */
static __device__ EwmRestarted<WeightedMoments> state_of(const EwmRestarted<WeightedMoments> &, const EwmCase &, const FiniteRun &,
                                                         const RunMoments &) {
    return {};
}
static __device__ bool settled(const EwmCase &, const EwmRestarted<WeightedMoments> &, RunMoments *) {
    return false;
}

/* What the threads of a block share. */
struct MomentsShared {
    RunWeights lanes, warps, tiles; /* units: a thread's elements, a warp's, a tile's (agent_prepare) */
    double warp_means[WARP], warp_squares[WARP];
    double weight_before; /* of the elements before the tile, if all are finite */
};
template <unsigned ITEMS>
__device__ void tile_prepare(const EwmCase &rule, const EwmTiles &plan, size_t low, MomentsShared *shared) {
    const unsigned warp = threadIdx.x / WARP;
    if (warp == 0) run_weights(rule, ITEMS, &shared->lanes);
    if (warp == blockDim.x / WARP - 1) run_weights(rule, ITEMS * WARP, &shared->warps);
    if (threadIdx.x == blockDim.x / 2) shared->weight_before = weights_before(rule, plan, low);
}
static __device__ void agent_prepare(const EwmCase &rule, const EwmTiles &plan, MomentsShared *shared) {
    if (threadIdx.x / WARP == 0) run_weights(rule, plan.length, &shared->tiles);
}

/* What the agent knows. */
template <typename State> struct MomentsOfTiles {
    const EwmCase &rule;
    const EwmTiles &plan;
    const RunWeights &tiles;
    double before, share, pair, decay; /* of what precedes the tile at(): its weight; joined with the tiles of lanes 0 .. lane */

    __device__ MomentsOfTiles(const EwmCase &given, const EwmTiles &given_tiles, const MomentsShared &shared)
        : rule(given), plan(given_tiles), tiles(shared.tiles), before(0), share(0), pair(0), decay(0) {}
    __device__ void at(size_t tile) {
        const unsigned run = threadIdx.x % WARP + 1;
        before = weights_before(rule, plan, tile * plan.length);
        decay = tiles.decays[run];
        share = decay * before / (decay * before + tiles.sums[run]);
        pair = tiles.sums[run] * share;
    }
    __device__ RunMoments scan(const RunMoments &own) const { return lanes_joined(tiles, own, TILE_WARP_STEPS); }
    __device__ RunMoments after(const RunMoments &moments, const RunMoments &run) const {
        return joined(moments, run, share, pair, decay);
    }
    __device__ State state_before(const RunMoments &moments, size_t tile) const {
        return tile == 0 ? State() : state_of(State(), rule, {tile * plan.length, 0, before, true, 0}, moments);
    }
    __device__ bool settled(const State &state, RunMoments *numbers) const { return ::settled(rule, state, numbers); }
};

/* A thread's elements: their mean, then the squares about it. */
template <typename T, unsigned ITEMS>
__device__ RunMoments thread_total(const EwmCase &rule, const MomentsShared &shared, const T *own) {
    double sum = (double)wide(own[0]), squares = 0;
#pragma unroll
    for (unsigned k = 1; k < ITEMS; k++) sum = rule.q * sum + (double)wide(own[k]);
    const double mean = sum * shared.lanes.shares[1];
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        const double delta = (double)wide(own[k]) - mean;
        squares = fma(rule.q, squares, delta * delta);
    }
    return {mean, squares};
}
template <unsigned ITEMS> __device__ RunMoments lanes_total(const EwmCase &, const MomentsShared &shared, const RunMoments &own) {
    return lanes_joined(shared.lanes, own, TILE_WARP_STEPS);
}
template <unsigned ITEMS> __device__ RunMoments warps_total(const EwmCase &, const MomentsShared &shared, const RunMoments &own) {
    return lanes_joined(shared.warps, own, MOMENTS_WARP_STEPS);
}
static __device__ bool is_ordinary(const EwmCase &rule, const RunMoments &total) {
    return rule.adjust && rule.alpha <= 0.5 && isfinite(total.mean) && isfinite(total.squares);
}
template <typename State>
__device__ RunMoments tile_numbers(const State &, const EwmCase &, const FiniteRun &, const RunMoments &total) {
    return total;
}

/* What precedes a thread's elements within the tile, and all of the tile. */
struct MomentsInside {
    RunMoments before, total;
    double decay, weight; /* of what precedes the tile, there; the sum of the weights of the tile's elements before the thread's */
};
template <unsigned ITEMS> __device__ MomentsInside tile_totals(const EwmCase &rule, MomentsShared *shared, const RunMoments &own) {
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const RunMoments run = lanes_total<ITEMS>(rule, *shared, own);
    if (lane == WARP - 1) shared->warp_means[warp] = run.mean, shared->warp_squares[warp] = run.squares;
    const RunMoments inner = {shuffle_value<true>(run.mean, 1), shuffle_value<true>(run.squares, 1)};
    __syncthreads();
    RunMoments chain = {}; /* every warp joins the totals of all */
    if (lane < warps) chain = {shared->warp_means[lane], shared->warp_squares[lane]};
    chain = warps_total<ITEMS>(rule, *shared, chain);
    MomentsInside result;
    result.total = agent_broadcast(chain, warps - 1);
    result.before = agent_broadcast(chain, warp > 0 ? warp - 1 : 0);
    const double later = shared->lanes.sums[lane], decay = shared->lanes.decays[lane], earlier = decay * shared->warps.sums[warp];
    result.decay = decay * shared->warps.decays[warp];
    result.weight = earlier + later;
    if (warp == 0) result.before = lane == 0 ? RunMoments() : inner;
    if (warp == 0 || lane == 0) return result;
    const double share = earlier / result.weight;
    result.before = joined(result.before, inner, share, later * share, decay);
    return result;
}

/* What comes into a tile; settled: the weights no longer grow, and the numbers say all. */
struct MomentsCarry {
    RunMoments numbers;
    bool settled;
};
/* By one thread, where numbers say what precedes the tile, and where a state does. */
static __device__ MomentsCarry tile_carry(const EwmCase &rule, const FiniteRun &, size_t low, const RunMoments &before,
                                          const MomentsShared &shared) {
    return {before, is_settled(rule, shared.weight_before) && low + 1 >= rule.min_periods};
}
template <typename State> __device__ MomentsCarry tile_carry(const EwmCase &rule, const FiniteRun &, size_t, const State &before) {
    MomentsCarry carry;
    carry.settled = settled(rule, before, &carry.numbers);
    return carry;
}

/* In place, for a thread's elements: outputs from the state before them. */
template <typename T, unsigned ITEMS, typename State>
__device__ __noinline__ void write_by_states(const EwmCase &rule, T *own, State state, size_t first) {
#pragma unroll 1
    for (unsigned k = 0; k < ITEMS; k++) {
        state.push(rule, (double)wide(own[k]), first + k == 0);
        own[k] = (T)state.output(rule, first + k);
    }
}
template <typename T, unsigned ITEMS, typename State>
__device__ void tile_write(const EwmCase &rule, T *own, const MomentsInside &before, const MomentsCarry &carry, size_t low,
                           const State *state_before) {
    if (!carry.settled) {
        State state = *state_before;
        if (threadIdx.x > 0) state.merge(state_of(State(), rule, finite_run(rule, threadIdx.x * ITEMS, low == 0), before.before));
        return write_by_states<T, ITEMS>(rule, own, state, low + threadIdx.x * ITEMS);
    }
    const RunMoments start = joined(carry.numbers, before.before, before.decay, before.weight * before.decay, before.decay);
    const double scale = rule.alpha * (1 + rule.q) / (2 * rule.q), gain = rule.q * scale; /* of squares: no bias */
    double mean = start.mean, spread = start.squares * scale + (carry.numbers.mean - carry.numbers.mean);
    const auto push = [&](double x) {
        const double delta = x - mean;
        mean = fma(rule.q, mean, rule.alpha * x);
        spread = fma(rule.q, spread, gain * delta * delta);
    };
    if (rule.agg != EWM_STD) {
#pragma unroll
        for (unsigned k = 0; k < ITEMS; k++) {
            push((double)wide(own[k]));
            own[k] = (T)spread;
        }
        return;
    }
    for (unsigned begin = 0; begin < ITEMS; begin += ROOTS) {
        double spreads[ROOTS];
        SumOf<T> roots[ROOTS];
#pragma unroll
        for (unsigned k = 0; k < ROOTS; k++) {
            if (begin + k < ITEMS) push((double)wide(own[begin + k]));
            spreads[k] = spread;
        }
        square_roots(spreads, roots);
#pragma unroll
        for (unsigned k = 0; k < ROOTS; k++)
            if (begin + k < ITEMS) own[begin + k] = (T)roots[k];
    }
}

template <typename State> struct KindOfVariance {
    typedef RunMoments Numbers, Total;
    typedef MomentsOfTiles<State> Rule;
    typedef MomentsShared Shared;
    typedef MomentsInside Inside;
    typedef MomentsCarry Carry;
    enum { ITEMS_F64 = 31, THREADS_F64 = 192, ITEMS_F32 = 27, ITEMS_NARROW = 27, THREADS_F32 = 256, BLOCKS = 4 };
    static constexpr bool GAPS = false, STATES = true;
};
template <> struct Kind<EwmDecayed<WeightedMoments>> : KindOfVariance<EwmDecayed<WeightedMoments>> {};
template <> struct Kind<EwmRestarted<WeightedMoments>> : KindOfVariance<EwmRestarted<WeightedMoments>> {};
