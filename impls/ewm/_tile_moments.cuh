/* _tile_moments.cuh - variances for cuda_agent_scan, for adjust=true and alpha <= 1/2. The weights of a run of finite elements
 * follow from its length, so a mean and a sum of squares about it say all, and runs are joined (Chan, Golub and LeVeque 1979) by
 * shares that a table holds: no division, no states of threads. Where elements are missing (nan=decay) runs have their weights with
 * them. */
#pragma once

#include "_tile_means.cuh"
#include "common/square_roots.cuh"

enum { MOMENTS_WARP_STEPS = 3 /* of a block of up to 8 warps */, ROOTS = 8 /* of a thread at once */ };

/* More of agent.cuh. Where no element is missing, the bag's weights are not told: they follow from the position. */
struct MomentsWithGaps {
    WeightedMoments bag;
    unsigned long long missing;
};
/* Numbers of agent.cuh: the weighted mean, the sum of w (x - mean)^2. The last element of a run has the weight 1. */
struct RunMoments {
    double mean, squares;
    __device__ operator MomentsWithGaps() const { return {{0, 0, mean, squares}, 0}; }
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
/* weight: that of all elements, were none missing. */
static __device__ WeightedMoments moments_told(const EwmCase &rule, const MomentsWithGaps &run, double weight) {
    if (run.missing > 0) return run.bag;
    return {weight, moments_pairs(rule, weight), run.bag.mean, run.bag.squares};
}
/* Two adjoining runs; decay: over the later one. As scale() and join() of WeightedMoments, for weights that do not underflow: no
 * branch, no division. */
static __device__ WeightedMoments appended(const WeightedMoments &earlier, const WeightedMoments &later, double decay) {
    const double aged = decay * earlier.weight, weight = aged + later.weight, pair = aged * later.weight;
    const double inverse = weight > EWM_NEGLIGIBLE ? inverse_of(weight) : 0, delta = later.mean - earlier.mean;
    const double from_later = fma(-aged * inverse, delta, later.mean),
                 from_earlier = fma(later.weight * inverse, delta, earlier.mean);
    const double squares = fma(decay, earlier.squares, later.squares);
    return {weight, fma(decay * decay, earlier.pairs, later.pairs) + pair, later.weight >= aged ? from_later : from_earlier,
            fma(pair * inverse * delta, delta, squares)};
}
static __device__ EwmDecayed<WeightedMoments> state_of(const EwmDecayed<WeightedMoments> &, const EwmCase &rule,
                                                       const FiniteRun &run, const MomentsWithGaps &total) {
    EwmDecayed<WeightedMoments> state;
    state.bag = moments_told(rule, total, run.weight);
    state.carried = run.first ? affine_cut<double>() : run.decay;
    state.count = run.count - total.missing;
    return state;
}
static __device__ bool settled(const EwmCase &rule, const EwmTiles &plan, EwmDecayed<WeightedMoments> before, size_t low,
                               MomentsWithGaps *numbers) {
    const bool grown = before.gap == 1 && is_settled(rule, before.bag.weight) && before.count + 1 >= rule.min_periods;
    before.age(before.gap);
    *numbers = {before.bag, grown ? 0 : low - before.count};
    const bool finite = isfinite(before.bag.squares) && isfinite(before.bag.mean);
    return rule.adjust && (grown || (finite && 8 * before.bag.weight >= weights_before(rule, plan, low)));
}
/* nan=decay with adjust=false: numbers never say all. */
static __device__ EwmRestarted<WeightedMoments> state_of(const EwmRestarted<WeightedMoments> &, const EwmCase &, const FiniteRun &,
                                                         const RunMoments &) {
    return {};
}
static __device__ bool settled(const EwmCase &, const EwmTiles &, const EwmRestarted<WeightedMoments> &, size_t, RunMoments *) {
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
template <typename State, typename More> struct MomentsOfTiles {
    const EwmCase &rule;
    const EwmTiles &plan;
    const RunWeights &tiles;
    double before; /* the weight of what precedes the tile at() */
    double share;  /* its share in the weight of it and of the tiles of lanes 0 .. lane */

    __device__ MomentsOfTiles(const EwmCase &given, const EwmTiles &given_tiles, const MomentsShared &shared)
        : rule(given), plan(given_tiles), tiles(shared.tiles), before(0), share(0) {}
    __device__ void at(size_t tile) {
        before = weights_before(rule, plan, tile * plan.length);
        share = share_of_lane();
    }
    __device__ RunMoments scan(const RunMoments &own) const { return lanes_joined(tiles, own, TILE_WARP_STEPS); }
    __device__ MomentsWithGaps scan(const MomentsWithGaps &own) const {
        MomentsWithGaps gapped = {};
        if (__any_sync((unsigned)ALL_LANES, own.missing > 0)) gapped = scan_gapped(own);
        if (__all_sync((unsigned)ALL_LANES, gapped.missing > 0)) return gapped;
        const RunMoments run = scan(RunMoments{own.bag.mean, own.bag.squares});
        return gapped.missing > 0 ? gapped : run; /* which does not depend on the lanes above */
    }
    __device__ RunMoments after(const RunMoments &all, const RunMoments &run) const { return after_of(all, run, share); }
    __device__ MomentsWithGaps after(const MomentsWithGaps &all, const MomentsWithGaps &run) const {
        const unsigned long long missing = all.missing + run.missing;
        if (missing == 0) return after_of({all.bag.mean, all.bag.squares}, {run.bag.mean, run.bag.squares}, share_of_lane());
        return {
            appended(moments_told(rule, all, before), moments_told(rule, run, tiles.sums[lane_runs()]), tiles.decays[lane_runs()]),
            missing};
    }
    __device__ State state_before(const More &more, size_t tile) const {
        return tile == 0 ? State() : state_of(State(), rule, {tile * plan.length, 0, before, true, 0}, more);
    }
    __device__ bool settled(const State &state, size_t tile, More *more) const {
        return ::settled(rule, plan, state, tile * plan.length, more);
    }

  private:
    static __device__ unsigned lane_runs() { return threadIdx.x % WARP + 1; }
    /* Computed again where it is rarely needed: kept, it would be spilled to local memory. */
    __device__ double share_of_lane() const {
        const double aged = tiles.decays[lane_runs()] * before;
        return aged / (aged + tiles.sums[lane_runs()]);
    }
    __device__ RunMoments after_of(const RunMoments &all, const RunMoments &run, double its_share) const {
        return joined(all, run, its_share, tiles.sums[lane_runs()] * its_share, tiles.decays[lane_runs()]);
    }
    __device__ MomentsWithGaps scan_gapped(const MomentsWithGaps &own) const {
        MomentsWithGaps run = {moments_told(rule, own, tiles.sums[1]), own.missing};
        for (unsigned later = 1; later < WARP; later *= 2) {
            const MomentsWithGaps other = ewm_shuffle<true>(run, later);
            if (threadIdx.x % WARP < later) continue;
            run = {appended(other.bag, run.bag, tiles.decays[later]), other.missing + run.missing};
        }
        return run;
    }
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
static __device__ RunMoments tile_numbers(const EwmCase &, const FiniteRun &, const RunMoments &total) {
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

/* What comes into a tile: a bag; in shared memory, which has no constructors. */
struct MomentsCarry {
    double weight, pairs, mean, squares;
    unsigned long long count; /* observations */
    bool told;                /* else `pairs` follows from the weight */
    bool settled;             /* the weights no longer grow, and the numbers say all */
    double latest;            /* variance, where a long gap has left the bag nothing; else NaN */

    __device__ WeightedMoments bag(const EwmCase &rule) const {
        return {weight, told ? pairs : moments_pairs(rule, weight), mean, squares};
    }
};
static __device__ MomentsCarry moments_carry(const EwmCase &rule, const WeightedMoments &bag, unsigned long long count, bool told,
                                             double latest) {
    const double pairs = rule.q / (rule.alpha * rule.alpha * (1 + rule.q)); /* in the end */
    const bool settled = rule.adjust && is_settled(rule, bag.weight) && (!told || fabs(bag.pairs - pairs) < 0x1p-50 * pairs);
    return {bag.weight, bag.pairs, bag.mean, bag.squares, count, told, settled && count + 1 >= rule.min_periods, latest};
}
/* By one thread, where numbers or More say what precedes the tile, and where a state does. */
static __device__ MomentsCarry tile_carry(const EwmCase &rule, const FiniteRun &, size_t low, const MomentsWithGaps &before,
                                          const MomentsShared &shared) {
    WeightedMoments bag = before.bag;
    if (before.missing == 0) bag.weight = shared.weight_before;
    return moments_carry(rule, bag, low - before.missing, before.missing > 0, NAN);
}
static __device__ MomentsCarry tile_carry(const EwmCase &rule, const FiniteRun &, size_t, EwmDecayed<WeightedMoments> before) {
    const double latest = before.bag.finish(false);
    before.age(before.gap);
    return moments_carry(rule, before.bag, before.count, true, latest);
}
/* nan=decay with adjust=false: no tile is ordinary. */
static __device__ MomentsCarry tile_carry(const EwmCase &, const FiniteRun &, size_t, const EwmRestarted<WeightedMoments> &) {
    return {};
}

static __device__ double variance_of(const WeightedMoments &bag) {
    return bag.squares * (bag.weight * inverse_of(2 * bag.pairs));
}
/* In place, for a thread's elements: outputs from the bag of all before them, whose weight stays above 2. So the weights of pairs
 * are those of all but of each with itself, and a missing element, which changes no ratio, has the output before it. */
template <typename T, unsigned ITEMS, bool ROOT>
__device__ __noinline__ void write_heavy(const EwmCase &rule, T *own, const WeightedMoments &bag) {
    const double q = rule.q; /* once: own might be an alias of the rule */
    double weight = bag.weight, selves = bag.weight * bag.weight - 2 * bag.pairs, mean = bag.mean, squares = bag.squares;
    const auto push = [&](double x) {
        const double one = x == x ? 1 : 0, delta = x == x ? x - mean : 0;
        weight = fma(q, weight, one);
        selves = fma(q * q, selves, one);
        const double step = inverse_of(weight) * delta;
        mean += step;
        squares = fma(delta, delta - step, q * squares);
        return squares * (weight * inverse_of(fma(weight, weight, -selves)));
    };
    if constexpr (!ROOT) {
#pragma unroll 8
        for (unsigned k = 0; k < ITEMS; k++) own[k] = (T)push((double)wide(own[k]));
    } else {
#pragma unroll 1
        for (unsigned begin = 0; begin < ITEMS; begin += ROOTS) {
            double variances[ROOTS] = {};
            SumOf<T> roots[ROOTS];
#pragma unroll
            for (unsigned k = 0; k < ROOTS; k++)
                if (begin + k < ITEMS) variances[k] = push((double)wide(own[begin + k]));
            square_roots(variances, roots);
#pragma unroll
            for (unsigned k = 0; k < ROOTS; k++)
                if (begin + k < ITEMS) own[begin + k] = (T)roots[k];
        }
    }
}
/* The same of any bag; latest: the output before them. */
template <typename T, unsigned ITEMS>
__device__ __noinline__ void write_any(const EwmCase &rule, T *own, WeightedMoments bag, unsigned long long count, double latest) {
    const double q = rule.q, q2 = q * q;
    const size_t min_periods = rule.min_periods;
    const bool root = rule.agg == EWM_STD;
    const T incomplete = (T)rule.incomplete;
#pragma unroll 1
    for (unsigned begin = 0; begin < ITEMS; begin += ROOTS) {
        double variances[ROOTS];
        SumOf<T> roots[ROOTS];
        unsigned complete = 0; /* a bit for each */
#pragma unroll
        for (unsigned k = 0; k < ROOTS; k++) {
            const double x = begin + k < ITEMS ? (double)wide(own[begin + k]) : (double)NAN;
            const bool there = x == x;
            const double aged = q * bag.weight, weight = there ? aged + 1 : aged, share = inverse_of(weight);
            const double delta = x - bag.mean, mean = aged >= 1 ? fma(share, delta, bag.mean) : fma(-aged * share, delta, x);
            bag.pairs = q2 * bag.pairs + (there ? aged : 0);
            bag.squares = q * bag.squares + (there ? aged * share * delta * delta : 0);
            bag.weight = weight;
            if (there) bag.mean = mean, latest = variance_of(bag);
            count += there;
            complete |= (unsigned)(count >= min_periods) << k;
            variances[k] = latest;
        }
        if (root) square_roots(variances, roots);
#pragma unroll
        for (unsigned k = 0; k < ROOTS; k++) {
            if (begin + k >= ITEMS) continue;
            const T value = root ? (T)roots[k] : (T)variances[k];
            own[begin + k] = complete >> k & 1 ? value : incomplete;
        }
    }
}
template <typename T, unsigned ITEMS>
__device__ void write_weighted(const EwmCase &rule, const MomentsShared &shared, T *own, const WeightedMoments &bag,
                               unsigned long long count, double latest) {
    if (shared.lanes.decays[1] * bag.weight <= 2 || count < rule.min_periods)
        return write_any<T, ITEMS>(rule, own, bag, count, latest);
    rule.agg == EWM_STD ? write_heavy<T, ITEMS, true>(rule, own, bag) : write_heavy<T, ITEMS, false>(rule, own, bag);
}
template <typename T, unsigned ITEMS> __device__ void write_settled(const EwmCase &rule, T *own, const RunMoments &start) {
    const double scale = rule.alpha * (1 + rule.q) / (2 * rule.q), gain = rule.q * scale; /* of squares: no bias */
    double mean = start.mean, spread = start.squares * scale;
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
template <typename T, unsigned ITEMS>
__device__ void tile_write(const EwmCase &rule, const MomentsShared &shared, T *own, const MomentsInside &inside,
                           const MomentsCarry &carry) {
    const RunMoments &inner = inside.before;
    if (carry.settled) {
        RunMoments start = joined({carry.mean, carry.squares}, inner, inside.decay, inside.weight * inside.decay, inside.decay);
        start.squares += carry.mean - carry.mean; /* NaN after an infinity */
        return write_settled<T, ITEMS>(rule, own, start);
    }
    const WeightedMoments bag = {inside.weight, moments_pairs(rule, inside.weight), inner.mean, inner.squares};
    write_weighted<T, ITEMS>(rule, shared, own, appended(carry.bag(rule), bag, inside.decay), carry.count + threadIdx.x * ITEMS,
                             NAN);
}

/* ---- Tiles with missing elements. */

/* A run of elements of which some are missing; weights are relative to its end. */
struct GappedMoments {
    WeightedMoments bag;
    double decay = 1;
    unsigned long long count = 0; /* observations */

    __device__ void merge(const GappedMoments &right) {
        bag = appended(bag, right.bag, right.decay);
        decay *= right.decay;
        count += right.count;
    }
};
template <bool UP> __device__ GappedMoments shuffle(const GappedMoments &run, unsigned distance) {
    return ewm_shuffle<UP>(run, distance);
}
/* A thread's elements: their mean, then the squares about it. */
template <typename T, unsigned ITEMS>
__device__ GappedMoments gapped_run(const EwmCase &rule, const MomentsShared &shared, const T *own) {
    GappedMoments run;
    WeightedMoments &bag = run.bag;
    double sum = 0;
#pragma unroll 8
    for (unsigned k = 0; k < ITEMS; k++) {
        const double x = (double)wide(own[k]), aged = rule.q * bag.weight;
        const bool there = x == x;
        sum = rule.q * sum + (there ? x : 0);
        bag.pairs = rule.q * rule.q * bag.pairs + (there ? aged : 0);
        bag.weight = there ? aged + 1 : aged;
        run.count += there;
    }
    run.decay = shared.lanes.decays[1];
    if (run.count == 0) return run;
    bag.mean = sum * inverse_of(bag.weight);
#pragma unroll 8
    for (unsigned k = 0; k < ITEMS; k++) {
        const double x = (double)wide(own[k]), delta = x == x ? x - bag.mean : 0;
        bag.squares = fma(rule.q, bag.squares, delta * delta);
    }
    return run;
}
static __device__ bool is_ordinary(const EwmTiles &plan, const GappedMoments &all) {
    return isfinite(all.bag.mean) && isfinite(all.bag.squares) && weighs_enough(plan, all.bag.weight);
}
static __device__ MomentsWithGaps gapped_numbers(const EwmTiles &plan, const GappedMoments &all) {
    return {all.bag, plan.length - all.count};
}
template <typename T, unsigned ITEMS>
__device__ void write_gapped(const EwmCase &rule, const MomentsShared &shared, T *own, const GappedMoments &inner,
                             const MomentsCarry &carry) {
    const WeightedMoments bag = appended(carry.bag(rule), inner.bag, inner.decay);
    const bool told = inner.count == 0 && carry.latest == carry.latest;
    write_weighted<T, ITEMS>(rule, shared, own, bag, carry.count + inner.count, told ? carry.latest : variance_of(bag));
}

template <typename State, typename MoreType> struct KindOfVariance {
    typedef RunMoments Total, Numbers;
    typedef MoreType More;
    typedef GappedMoments Gapped;
    typedef MomentsOfTiles<State, More> Rule;
    typedef MomentsShared Shared;
    typedef MomentsInside Inside;
    typedef MomentsCarry Carry;
    enum {
        ITEMS_F64 = 31,
        THREADS_F64 = 192,
        BLOCKS_F64 = 4,
        ITEMS_F32 = 27,
        ITEMS_NARROW = 27,
        THREADS_F32 = 192,
        BLOCKS_F32 = 5
    };
    static constexpr bool GAPS = !std::is_same_v<Numbers, More>;
};
template <> struct Kind<EwmDecayed<WeightedMoments>> : KindOfVariance<EwmDecayed<WeightedMoments>, MomentsWithGaps> {};
template <> struct Kind<EwmRestarted<WeightedMoments>> : KindOfVariance<EwmRestarted<WeightedMoments>, RunMoments> {};
