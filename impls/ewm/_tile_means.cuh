/* _tile_means.cuh - a mean over a tile without NaN, which needs no states of threads: what its sum says about it, what comes into
 * it, and its outputs. For cuda_agent_scan. */
#ifndef RUNGS_IMPLS_EWM_TILE_MEANS_CUH
#define RUNGS_IMPLS_EWM_TILE_MEANS_CUH

#include "_shared.cuh"
#include "common/discounted_cumsum/tile.cuh"

/* The sum of the weights q^k of so many elements. */
static __device__ double weights_of(const EwmCase &rule, size_t count) {
    return -expm1((double)count * rule.log_q) / rule.alpha;
}

/* A full tile: q^count, the sum of its weights. */
struct FullTile {
    double decay, weights;
    unsigned count;
};
static __device__ inline FullTile full_tile(const EwmCase &rule, unsigned count) {
    return {tile_power(rule.q, count), weights_of(rule, count), count};
}

/* What comes into a tile without NaN: y = (sum of the tile + q^k sum) / (weights of the tile + q^k weight), k elements in.
 * adjust=false has alpha x in place of x, and no weights. */
struct CarryIn {
    double sum, weight;
    unsigned long long count; /* observations */
};

/* Each kind of state: can a tile with this sum go without states of threads; what comes in from `before`, where first: nothing is
 * before the tile; and the state of a full tile, to publish. x: the first element, total: the sum of the tile. */
static __device__ bool is_regular(const EwmPlain &, const EwmCase &rule, double) {
    return rule.q > 0;
}
static __device__ CarryIn carry_in(const EwmPlain &before, const EwmCase &rule, size_t low, bool first, double x) {
    if (first) return {rule.adjust ? 0 : x, 0, 0};
    return {before.map.b, rule.adjust ? weights_of(rule, low) : 0, low};
}
static __device__ EwmPlain tile_state(const EwmPlain &, const EwmCase &rule, const FullTile &tile, bool first, double x,
                                      double total) {
    if (rule.adjust) return {{first ? affine_cut<double>() : tile.decay, total}};
    return {{first ? affine_cut<double>() : tile.decay, rule.alpha * total + (first ? tile.decay * x : 0)}};
}

static __device__ bool is_regular(const EwmDecayed<WeightedSum> &, const EwmCase &rule, double total) {
    return rule.q > 0 && rule.adjust && isfinite(total);
}
static __device__ CarryIn carry_in(const EwmDecayed<WeightedSum> &before, const EwmCase &, size_t, bool first, double) {
    if (first) return {0, 0, 0};
    return {before.bag.sum * before.gap, before.bag.weight * before.gap, before.count};
}
static __device__ EwmDecayed<WeightedSum> tile_state(const EwmDecayed<WeightedSum> &, const EwmCase &, const FullTile &tile,
                                                     bool first, double, double total) {
    EwmDecayed<WeightedSum> state;
    state.bag = {total, tile.weights};
    state.carried = first ? affine_cut<double>() : tile.decay;
    state.count = tile.count;
    return state;
}

/* The first observation after a gap weighs more: the sum that comes in makes up for it. */
static __device__ bool is_regular(const EwmRestarted<WeightedSum> &, const EwmCase &rule, double total) {
    return rule.q > 0 && isfinite(total);
}
static __device__ CarryIn carry_in(const EwmRestarted<WeightedSum> &before, const EwmCase &rule, size_t, bool first, double x) {
    if (first || before.count == 0) return {x, 0, 0};
    WeightedSum all = before.rest;
    if (before.share > EWM_NEGLIGIBLE || (before.share > 0 && !isfinite(before.first))) all.add(before.first, before.share);
    const double y = all.finish(false);
    if (before.gap == 1) return {y, 0, before.count};
    const double decay = affine_product(before.gap, rule.q), own = rule.alpha / (decay + rule.alpha);
    const double carried = decay / (decay + rule.alpha) * y + (own - rule.alpha) * x;
    return {carried / rule.q, 0, before.count};
}
static __device__ EwmRestarted<WeightedSum> tile_state(const EwmRestarted<WeightedSum> &, const EwmCase &rule, const FullTile &tile,
                                                       bool first, double x, double total) {
    EwmRestarted<WeightedSum> state;
    state.first = x;
    state.share = affine_power(rule.q, tile.count - 1);
    state.rest = {rule.alpha * (total - state.share * x), -expm1((tile.count - 1) * rule.log_q)};
    state.lead = first ? affine_cut<double>() : rule.q;
    state.alpha = rule.alpha;
    state.count = tile.count;
    return state;
}

/* Variances: always by states of threads. */
template <typename State> __device__ bool is_regular(const State &, const EwmCase &, double) {
    return false;
}
template <typename State> __device__ CarryIn carry_in(const State &, const EwmCase &, size_t, bool, double) {
    return {};
}
template <typename State> __device__ State tile_state(const State &state, const EwmCase &, const FullTile &, bool, double, double) {
    return state;
}

/* In place, for a thread's elements: outputs of a mean from what precedes them. */
template <typename T>
__device__ void write_means(const EwmCase &rule, T *own, unsigned items, double sum, double weight, unsigned long long count) {
    const bool counted = count + 1 >= rule.min_periods;
    if (counted && (!rule.adjust || fabs(weight * rule.alpha - 1) < 0x1p-50)) { /* the weights no longer grow: no division */
        if (rule.adjust) sum *= rule.alpha;
#pragma unroll
        for (unsigned k = 0; k < items; k++) {
            sum = rule.q * sum + rule.alpha * (double)own[k];
            own[k] = (T)sum;
        }
        return;
    }
#pragma unroll 3
    for (unsigned k = 0; k < items; k++) {
        sum = rule.q * sum + (rule.adjust ? 1 : rule.alpha) * (double)own[k];
        weight = rule.q * weight + 1;
        own[k] = (T)(count + k + 1 < rule.min_periods ? rule.incomplete : rule.adjust ? sum / weight : sum);
    }
}

#endif
