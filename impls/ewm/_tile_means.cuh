/* _tile_means.cuh - means for cuda_agent_scan, over tiles without NaN and infinities: they need no states of threads. The sum of a
 * tile is a discounted sum with the factor q, and sums of the weights follow from the position. Of a tile with missing elements
 * (nan=decay, adjust=true) the weight is summed up, too, and what it lacks is published with the sum.
 *
 * Sums are of x where adjust=true, else of alpha x: then a sum of all elements is the mean. */
#pragma once

#include "_shared.cuh"
#include "common/agent.cuh"
#include "common/discounted_cumsum/tile.cuh"

/* The sum of the weights q^k of so many elements. */
static __host__ __device__ double weights_of(const EwmCase &rule, size_t count) {
    return -expm1((double)count * rule.log_q) / rule.alpha;
}

/* Such a sum of weights grows no longer. */
static __device__ bool is_settled(const EwmCase &rule, double weight) {
    return fabs(weight * rule.alpha - 1) < 0x1p-50;
}

/* More of agent.cuh: with what missing elements would weigh, and how many they are; 0, to the last bit, if none is. */
struct RunWithGaps {
    double sum, deficit;
    unsigned long long missing;
};
/* Numbers of agent.cuh. */
struct RunSum {
    double sum;
    __device__ operator RunWithGaps() const { return {sum, 0, 0}; }
};
static __device__ RunSum earlier_lanes(RunSum run, unsigned distance) {
    return {shuffle_value<true>(run.sum, distance)};
}
static __device__ RunWithGaps earlier_lanes(const RunWithGaps &run, unsigned distance) {
    return {shuffle_value<true>(run.sum, distance), shuffle_value<true>(run.deficit, distance),
            shuffle_value<true>(run.missing, distance)};
}
/* Two adjoining runs; decay: over the later one. */
static __device__ RunSum appended(RunSum earlier, RunSum later, double decay) {
    return {decay * earlier.sum + later.sum};
}
static __device__ RunWithGaps appended(const RunWithGaps &earlier, const RunWithGaps &later, double decay) {
    return {decay * earlier.sum + later.sum, decay * earlier.deficit + later.deficit, earlier.missing + later.missing};
}

/* The tiles of a launch, all but the last of one length. */
struct EwmTiles {
    unsigned length, ahead;
    bool packed;
    double decay, weight; /* q^length, the sum of so many weights */
    size_t settled;       /* from here on in the series the sum of the weights no longer grows */
};

/* A run of finite elements. first: nothing is before them; x: the first of them. */
struct FiniteRun {
    size_t count;
    double decay, weight; /* q^count, the sum of so many weights */
    bool first;
    double x;
};
static __device__ FiniteRun tile_run(const EwmTiles &plan, bool first, double x) {
    return {plan.length, plan.decay, plan.weight, first, x};
}
/* The sum of the weights of the elements before element low, if all are finite. */
static __device__ double weights_before(const EwmCase &rule, const EwmTiles &plan, size_t low) {
    return low < plan.settled ? weights_of(rule, low) : 1 / rule.alpha;
}
static __device__ FiniteRun finite_run(const EwmCase &rule, size_t count, bool first) {
    return {count, first ? 0 : affine_power(rule.q, count), weights_of(rule, count), first, 0};
}

/* Its state. */
static __device__ EwmPlain state_of(const EwmPlain &, const EwmCase &, const FiniteRun &run, RunSum total) {
    return {{run.first ? affine_cut<double>() : run.decay, total.sum}};
}
static __device__ EwmDecayed<WeightedSum> state_of(const EwmDecayed<WeightedSum> &, const EwmCase &, const FiniteRun &run,
                                                   const RunWithGaps &total) {
    EwmDecayed<WeightedSum> state;
    state.bag = {total.sum, run.weight - total.deficit};
    state.carried = run.first ? affine_cut<double>() : run.decay;
    state.count = run.count - total.missing;
    return state;
}
/* The first observation of a run is kept apart from the rest; of a series it need not be. */
static __device__ EwmRestarted<WeightedSum> state_of(const EwmRestarted<WeightedSum> &, const EwmCase &rule, const FiniteRun &run,
                                                     RunSum total) {
    EwmRestarted<WeightedSum> state;
    state.first = run.x;
    state.share = run.first ? 0 : run.decay / rule.q;
    state.rest = {total.sum - rule.alpha * (state.share * run.x), run.first ? 1 : rule.alpha * ((run.weight - 1) / rule.q)};
    state.lead = run.first ? affine_cut<double>() : rule.q;
    state.alpha = rule.alpha;
    state.count = run.count;
    return state;
}

/* Does a sum say all about what precedes element `low`? Else its weights still grow, or there is a gap. */
static __device__ bool settled(const EwmCase &, const EwmTiles &, const EwmPlain &before, size_t, RunSum *numbers) {
    numbers->sum = before.map.b;
    return true;
}
/* Numbers that tell the weights do after a gap, too, if these have not become small. */
static __device__ bool settled(const EwmCase &rule, const EwmTiles &plan, const EwmDecayed<WeightedSum> &before, size_t low,
                               RunWithGaps *numbers) {
    *numbers = {before.bag.sum, 0, 0};
    if (before.gap == 1 && is_settled(rule, before.bag.weight) && before.count >= rule.min_periods) return true;
    const double weight = before.bag.weight * before.gap, all = weights_before(rule, plan, low);
    *numbers = {before.bag.sum * before.gap, all - weight, low - before.count};
    return rule.adjust && isfinite(before.bag.sum) && 8 * weight >= all;
}
static __device__ bool settled(const EwmCase &rule, const EwmTiles &, const EwmRestarted<WeightedSum> &before, size_t,
                               RunSum *numbers) {
    numbers->sum = before.count > 0 ? before.all().finish(false) : 0;
    return before.gap == 1 && before.count >= rule.min_periods;
}

/* What the threads of a block share. */
struct MeansShared {
    TilePowers powers;
    double tiles[WARP + 1]; /* of q, for so many tiles: agent_prepare */
    double warp_totals[WARP];
    double weight_before; /* of the elements before the tile, if all are finite */
};
template <unsigned ITEMS> __device__ void tile_prepare(const EwmCase &rule, const EwmTiles &plan, size_t low, MeansShared *shared) {
    tile_powers(rule.q, ITEMS, &shared->powers);
    if (threadIdx.x == blockDim.x - 1) shared->weight_before = weights_before(rule, plan, low);
}

static __device__ void agent_prepare(const EwmCase &rule, const EwmTiles &plan, MeansShared *shared) {
    for (unsigned k = threadIdx.x; k <= WARP; k += blockDim.x) shared->tiles[k] = tile_power(rule.q, plan.length * k);
}

/* What the agent knows. */
template <typename State, typename More> struct SumsOfTiles {
    const EwmCase &rule;
    const EwmTiles &plan;
    const double *powers;  /* of q, for so many tiles */
    double weight, before; /* of what precedes the tile at(): behind the tiles of lanes 0 .. lane; the sum of its weights */

    __device__ SumsOfTiles(const EwmCase &given, const EwmTiles &tiles, const MeansShared &shared)
        : rule(given), plan(tiles), powers(shared.tiles), weight(0), before(0) {}
    __device__ void at(size_t tile) {
        weight = powers[threadIdx.x % WARP + 1];
        before = weights_before(rule, plan, tile * plan.length);
    }
    __device__ RunSum scan(RunSum run) const { return scan_of(run); }
    __device__ RunWithGaps scan(const RunWithGaps &run) const {
        if (!__any_sync((unsigned)ALL_LANES, run.missing > 0)) return scan_of(RunSum{run.sum}); /* all wait for the agent */
        return scan_of(run);
    }
    template <typename Run> __device__ Run after(const Run &before_all, const Run &run) const {
        return appended(before_all, run, weight);
    }
    __device__ State state_before(const More &more, size_t tile) const {
        return tile == 0 ? State() : state_of(State(), rule, {tile * plan.length, 0, before, true, 0}, more);
    }
    __device__ bool settled(const State &state, size_t tile, More *more) const {
        return ::settled(rule, plan, state, tile * plan.length, more);
    }

  private:
    template <typename Run> __device__ Run scan_of(Run run) const {
#pragma unroll
        for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
            const Run other = earlier_lanes(run, 1u << s);
            if (threadIdx.x % WARP >= 1u << s) run = appended(other, run, powers[1u << s]);
        }
        return run;
    }
};

/* A thread's elements, in the dtype: it stands for few of them, and what is between threads is double. */
template <typename T, unsigned ITEMS> __device__ RunSum thread_total(const EwmCase &rule, const MeansShared &, const T *own) {
    const SumOf<T> decay = (SumOf<T>)rule.q;
    if (sizeof(T) == 2 && (uintptr_t)own % sizeof(Pack<T, 2>) != 0) { /* of an array, not of a tile */
        SumOf<T> sum = 0;
#pragma unroll 1
        for (unsigned k = 0; k < ITEMS; k++) sum = decay * sum + wide(own[k]);
        return {(double)sum};
    }
    return {(double)tile_thread_sum<T, false, ITEMS>(own, ITEMS, decay)};
}
/* Of the threads of lanes 0 .. lane, and of warps; tile_scan() does the same. */
template <unsigned ITEMS> __device__ RunSum lanes_total(const EwmCase &rule, const MeansShared &, RunSum own) {
    return {tile_lanes_sum(own.sum, rule.q, ITEMS)};
}
template <unsigned ITEMS> __device__ RunSum warps_total(const EwmCase &rule, const MeansShared &, RunSum own) {
    return {tile_lanes_sum(own.sum, rule.q, ITEMS * WARP)};
}
static __device__ bool is_ordinary(const EwmCase &rule, RunSum total) {
    return rule.q > 0 && isfinite(total.sum);
}
/* Of a tile, from the sum of its x. */
static __device__ RunSum tile_numbers(const EwmCase &rule, const FiniteRun &tile, RunSum total) {
    if (rule.adjust) return total;
    return {rule.alpha * total.sum + (tile.first ? tile.decay * tile.x : 0)};
}

/* What precedes a thread's elements within the tile, and all of the tile. */
struct MeansInside {
    TileBefore before;
    RunSum total;
};
template <unsigned ITEMS> __device__ MeansInside tile_totals(const EwmCase &, MeansShared *shared, RunSum own) {
    const TileBefore before = tile_scan(own.sum, shared->powers, shared->warp_totals);
    return {before, {before.total}};
}

/* What comes into a tile without NaN: y = (sum of the tile + q^k sum) / (weights of the tile + q^k weight), k elements in.
 * adjust=false has alpha x in place of x, and no weights. */
struct MeanCarry {
    double sum, weight;
    unsigned long long count; /* observations */
    bool settled;             /* their weights, so that no output needs a division; sum is the mean */
    double latest;            /* output, where a long gap has left the sums nothing; else NaN */
};
static __device__ MeanCarry mean_settled(const EwmCase &rule, MeanCarry carry) {
    carry.settled = carry.count + 1 >= rule.min_periods && (!rule.adjust || is_settled(rule, carry.weight));
    if (carry.settled && rule.adjust) carry.sum *= rule.alpha;
    return carry;
}
/* By one thread, where numbers say what precedes the tile. */
static __device__ MeanCarry tile_carry(const EwmCase &rule, const FiniteRun &tile, size_t low, RunSum before,
                                       const MeansShared &shared) {
    MeanCarry carry = {before.sum, rule.adjust ? shared.weight_before : 0, low, false, NAN};
    if (tile.first) carry.sum = rule.adjust ? 0 : tile.x;
    return mean_settled(rule, carry);
}
static __device__ MeanCarry tile_carry(const EwmCase &rule, const FiniteRun &tile, size_t low, const RunWithGaps &before,
                                       const MeansShared &shared) {
    return mean_settled(rule,
                        {tile.first ? 0 : before.sum, shared.weight_before - before.deficit, low - before.missing, false, NAN});
}
/* And where a state does. */
static __device__ MeanCarry tile_carry(const EwmCase &rule, const FiniteRun &, size_t low, const EwmPlain &before) {
    return mean_settled(rule, {before.map.b, rule.adjust ? weights_of(rule, low) : 0, low, false, NAN});
}
static __device__ MeanCarry tile_carry(const EwmCase &rule, const FiniteRun &, size_t, const EwmDecayed<WeightedSum> &before) {
    const WeightedSum &bag = before.bag; /* after a long gap it weighs nothing, but its mean is still the output */
    return mean_settled(rule, {bag.sum * before.gap, bag.weight * before.gap, before.count, false, bag.finish(false)});
}
/* The first observation after a gap weighs more: the sum that comes in makes up for it. */
static __device__ MeanCarry tile_carry(const EwmCase &rule, const FiniteRun &tile, size_t,
                                       const EwmRestarted<WeightedSum> &before) {
    if (before.count == 0) return mean_settled(rule, {tile.x, 0, 0, false, NAN});
    const double y = before.all().finish(false);
    if (before.gap == 1) return mean_settled(rule, {y, 0, before.count, false, NAN});
    const double decay = affine_product(before.gap, rule.q), own = rule.alpha / (decay + rule.alpha);
    const double carried = decay / (decay + rule.alpha) * y + (own - rule.alpha) * tile.x;
    return mean_settled(rule, {carried / rule.q, 0, before.count, false, NAN});
}

/* 1 / weight to a unit in the last place, for weights from 1 on: the processor's estimate (2^-20) times 1 / (1 - miss), of which
 * three terms count. A division branches, which keeps the outputs of a thread from running side by side. */
static __device__ double inverse_of(double weight) {
    double inverse;
#ifdef __CUDA_ARCH__
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(weight));
#else
    inverse = 1 / weight;
#endif
    const double miss = fma(-weight, inverse, 1.0);
    return fma(inverse, fma(miss, miss, miss), inverse);
}
static __device__ float inverse_of(float weight) {
    return __fdividef(1, weight); /* the estimate, to a unit in the last place */
}
/* In place, for a thread's elements: outputs from the sum of the weighted elements before them. */
template <typename T, unsigned ITEMS>
__device__ __noinline__ void write_growing(const EwmCase &rule, T *own, double sum, double weight, unsigned long long count) {
    if (rule.adjust && count + 1 >= rule.min_periods) {
#pragma unroll 8
        for (unsigned k = 0; k < ITEMS; k++) {
            sum = rule.q * sum + (double)wide(own[k]);
            weight = rule.q * weight + 1;
            own[k] = (T)(sum * inverse_of(weight));
        }
        return;
    }
#pragma unroll 1 /* the few tiles before min_periods */
    for (unsigned k = 0; k < ITEMS; k++) {
        sum = rule.q * sum + (rule.adjust ? 1 : rule.alpha) * (double)wide(own[k]);
        weight = rule.q * weight + 1;
        own[k] = (T)(count + k + 1 < rule.min_periods ? rule.incomplete : rule.adjust ? sum * inverse_of(weight) : sum);
    }
}
template <typename T, unsigned ITEMS>
__device__ void tile_write(const EwmCase &rule, const MeansShared &, T *own, const MeansInside &at, const MeanCarry &carry) {
    const double sum = at.before.sum, weight = at.before.weight;
    if (!carry.settled) {
        const double inner = weights_of(rule, threadIdx.x * ITEMS);
        return write_growing<T, ITEMS>(rule, own, (rule.adjust ? 1 : rule.alpha) * sum + weight * carry.sum,
                                       inner + weight * carry.weight, carry.count + threadIdx.x * ITEMS);
    }
    using S = SumOf<T>;
    const S decay = (S)rule.q, share = sizeof(S) == sizeof(double) ? (S)rule.alpha : 1 - decay; /* a rounded q: together 1 */
    S y = (S)(rule.alpha * sum + weight * carry.sum);
    if constexpr (sizeof(T) == 2) {
        (void)tile_pairs<T, false, ITEMS, true>(own, ITEMS, y, [=](S before, S x) { return decay * before + share * x; });
    } else {
#pragma unroll
        for (unsigned k = 0; k < ITEMS; k++) {
            y = decay * y + share * wide(own[k]);
            own[k] = (T)y;
        }
    }
}

/* ---- Tiles with missing elements. */

/* A run of elements of which some are missing; weights are relative to its end. */
struct GappedRun {
    double sum = 0, weight = 0, decay = 1;
    unsigned long long count = 0; /* observations */

    __device__ void merge(const GappedRun &right) {
        sum = right.decay * sum + right.sum;
        weight = right.decay * weight + right.weight;
        decay *= right.decay;
        count += right.count;
    }
};
template <bool UP> __device__ GappedRun shuffle(const GappedRun &run, unsigned distance) {
    return ewm_shuffle<UP>(run, distance);
}
template <typename T, unsigned ITEMS>
__device__ GappedRun gapped_run(const EwmCase &rule, const MeansShared &shared, const T *own) {
    const SumOf<T> decay = (SumOf<T>)rule.q; /* as in thread_total() */
    SumOf<T> sum = 0;
    double weight = 0;
    unsigned count = 0;
#pragma unroll 8
    for (unsigned k = 0; k < ITEMS; k++) {
        const SumOf<T> x = wide(own[k]);
        const bool there = x == x;
        sum = decay * sum + (there ? x : 0);
        weight = rule.q * weight + (there ? 1 : 0);
        count += there;
    }
    return {(double)sum, weight, shared.powers.lanes[1], count};
}
/* Do numbers describe the tile? Earlier weights must not underflow within it, and the subtraction of the missing weights from all
 * must lose at most three bits. */
static __device__ bool weighs_enough(const EwmTiles &plan, double weight) {
    return plan.decay > 0x1p-300 && 8 * weight >= plan.weight;
}
static __device__ bool is_ordinary(const EwmTiles &plan, const GappedRun &all) {
    return isfinite(all.sum) && weighs_enough(plan, all.weight);
}
static __device__ RunWithGaps gapped_numbers(const EwmTiles &plan, const GappedRun &all) {
    return {all.sum, plan.weight - all.weight, plan.length - all.count};
}
/* In place, for a thread's elements, as tile_write() of a mean, but for the share `lacking` of the weights, those of missing
 * elements. A missing element changes no ratio: it has the output before it. */
template <typename T, unsigned ITEMS> __device__ void write_lacking(const EwmCase &rule, T *own, double mean, double missing) {
    using S = SumOf<T>;
    const S decay = (S)rule.q, share = sizeof(S) == sizeof(double) ? (S)rule.alpha : 1 - decay;
    S y = (S)mean, lacking = (S)missing;
#pragma unroll 8
    for (unsigned k = 0; k < ITEMS; k++) {
        const S x = wide(own[k]);
        y = decay * y + (x == x ? share * x : 0);
        lacking = decay * lacking + (x == x ? 0 : share);
        own[k] = (T)(y * inverse_of(1 - lacking));
    }
}
/* In place, for a thread's elements; inner: those of the tile before them. A missing element has the output before it. */
template <typename T, unsigned ITEMS>
__device__ void write_gapped(const EwmCase &rule, const MeansShared &shared, T *own, const GappedRun &inner,
                             const MeanCarry &carry) {
    double sum = inner.decay * (carry.settled ? carry.sum / rule.alpha : carry.sum) + inner.sum;
    double weight = inner.decay * carry.weight + inner.weight;
    unsigned long long count = carry.count + inner.count;
    const double share = rule.alpha * weight;
    if (count >= rule.min_periods && is_settled(rule, shared.weight_before) && 4 * shared.powers.lanes[1] * share > 1)
        return write_lacking<T, ITEMS>(rule, own, rule.alpha * sum, 1 - share);
    const double q = rule.q; /* read once: own might alias the rule */
    double y = sum * inverse_of(weight);
    if (inner.count == 0 && carry.latest == carry.latest) y = carry.latest;
#pragma unroll 8
    for (unsigned k = 0; k < ITEMS; k++) {
        const double x = (double)wide(own[k]);
        const bool there = x == x;
        sum = q * sum + (there ? x : 0);
        weight = q * weight + (there ? 1 : 0);
        count += there;
        if (there) y = sum * inverse_of(weight);
        own[k] = (T)(count < rule.min_periods ? rule.incomplete : y);
    }
}

/* What means and variances differ in; _tile_moments.cuh has the variances. Shapes are the fastest on an H200 (docs/ops/ewm.md). */
template <typename State> struct Kind {
    typedef RunSum Total, Numbers, More; /* what the threads of a tile add up; what tiles publish */
    typedef SumsOfTiles<State, More> Rule;
    typedef MeansShared Shared;
    typedef MeansInside Inside;
    typedef MeanCarry Carry;
    enum {
        ITEMS_F64 = 31,
        THREADS_F64 = 128,
        BLOCKS_F64 = 6,
        ITEMS_F32 = 63,
        ITEMS_NARROW = 126,
        THREADS_F32 = 128,
        BLOCKS_F32 = 6
    };
    static constexpr bool GAPS = false; /* tiles with missing elements publish More: Gapped is what their threads add up */
};
template <> struct Kind<EwmDecayed<WeightedSum>> : Kind<EwmPlain> {
    typedef RunWithGaps More;
    typedef GappedRun Gapped;
    typedef SumsOfTiles<EwmDecayed<WeightedSum>, More> Rule;
    static constexpr bool GAPS = true;
};
