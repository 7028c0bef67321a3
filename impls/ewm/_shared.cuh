/* _shared.cuh - the operator of the CUDA scans of ewm: the state of a run of consecutive elements, such that the states of two
 * adjoining runs merge into the state of both.
 *
 * There are three states, from the cheapest case to the most general:
 *   - EwmPlain, 16 bytes: nan=propagate, one series, mean. The affine map y -> q y + x; the sum of the weights has a closed form.
 *   - EwmDecayed<Bag>, 40 or 56 bytes: weights decay with time. Every mode but these two.
 *   - EwmRestarted<Bag>, 64 or 80 bytes: nan=decay with adjust=false. pandas sets the sum of the weights back to 1 at every
 *     observation, so the effect of a run depends on the gap before it.
 *
 * Each has the state of no element (value-initialised); push(rule, x, first), which appends element x (first: a new series begins
 * with it); merge(right), which appends the run to the right; output(rule, i), the result after all elements up to i.
 *
 * All are doubles for both dtypes: the kernels are bound by memory. Only element minus mean and mean minus mean are subtracted, so
 * an offset of the data cancels no digits. An inf or NaN that was added stays. */
#pragma once

#include "_shared.h"
#include "common/affine.cuh"
#include "common/grid.cuh"
#include "common/narrow.cuh"

/* The case as kernels see it. */
template <typename T> struct EwmView {
    const T *x;
    const unsigned char *starts; /* NULL: one series */
    T *y;
    EwmCase rule;

    __host__ __device__ bool begins(size_t i) const { return i == 0 || (starts && starts[i] != 0); }
};

template <typename T> static inline EwmView<T> ewm_view(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    const unsigned char *starts = rule.segments ? (const unsigned char *)args->in[1].data : NULL;
    return {(const T *)args->in[0].data, starts, (T *)args->out[0].data, rule};
}

/* A bag of weighted observations, for means: sum of w x, sum of w. */
struct WeightedSum {
    double sum = 0, weight = 0;
    __host__ __device__ void add(double x, double w) {
        sum += w * x;
        weight += w;
    }
    /* All weights times factor > 0. */
    __host__ __device__ void scale(double factor) {
        sum *= factor;
        weight *= factor;
    }
    __host__ __device__ void join(const WeightedSum &other) {
        sum += other.sum;
        weight += other.weight;
    }
    __host__ __device__ double finish(bool) const { return sum / weight; }
};

/* A bag for variances: the sum of w, the mean, the sum of w (x - mean)^2, and `pairs`, the sum of w_j w_k over j < k. pairs is half
 * of the bias correction (sum w)^2 - sum w^2, without that difference. add: West 1979; join: Chan, Golub and LeVeque 1979. The term
 * delta - delta is 0, or NaN as soon as there is an inf. One observation has no pair: its variance is 0 / 0. */
struct WeightedMoments {
    double weight = 0, pairs = 0, mean = 0, squares = 0;
    __host__ __device__ void add(double x, double w) { join({w, 0, x, 0}); }
    __host__ __device__ void scale(double factor) {
        weight *= factor;
        pairs *= factor * factor;
        squares *= factor;
        if (!(weight > EWM_NEGLIGIBLE) && isfinite(mean)) *this = {}; /* its pairs, were they alone, would be 0 / 0 */
    }
    /* The new mean starts from the mean of the heavier bag. Starting from a decayed mean of 1e16 would leave its rounding, 2. */
    __host__ __device__ void join(const WeightedMoments &other) {
        const bool heavier = weight >= other.weight;
        const double heavy = heavier ? weight : other.weight, light = heavier ? other.weight : weight;
        const double total = weight + other.weight, delta = other.mean - mean, share = total > 0 ? light / total : 0;
        mean = heavier ? mean + delta * share : other.mean - delta * share;
        squares += other.squares + heavy * share * delta * delta + (delta - delta);
        pairs += other.pairs + weight * other.weight;
        weight = total;
    }
    __host__ __device__ double finish(bool root) const {
        const double variance = squares * (weight / (2 * pairs));
        return root ? sqrt(variance) : variance;
    }
};

struct EwmPlain {
    Affine<double> map;
    __host__ __device__ void push(const EwmCase &rule, double x, bool first) {
        map.merge({first || rule.q == 0 ? affine_cut<double>() : rule.q, rule.adjust || first ? x : rule.alpha * x});
    }
    __host__ __device__ void merge(const EwmPlain &right) { map.merge(right.map); }
    /* The sum of i + 1 weights, (1 - q^(i+1)) / alpha, equals 1 / alpha to the last bit where q^(i+1) < 2^-60. */
    __host__ __device__ double output(const EwmCase &rule, size_t i) const {
        const double steps = (double)i + 1;
        if (i + 1 < rule.min_periods) return rule.incomplete;
        if (!rule.adjust) return map.b;
        const double log_rest = steps * rule.log_q;
        return log_rest < -42 ? map.b * rule.alpha : map.b * rule.alpha / -expm1(log_rest);
    }
};

/* Weights are relative to that of the run's last observation, not to the present: no number of NaN makes them underflow. */
template <typename Bag> struct EwmDecayed {
    Bag bag;
    double carried = 1;           /* factor of everything before the run, at its last observation; a cut after a segment start */
    double gap = 1;               /* decay since then */
    unsigned long long count = 0; /* observations */

    __host__ __device__ void push(const EwmCase &rule, double x, bool first) {
        if (first) {
            *this = {};
            carried = affine_cut<double>();
        }
        const double decay = affine_product(gap, rule.q);
        const bool observed = !rule.nan_decays || x == x;
        gap = observed ? 1 : decay;
        if (!observed) return;
        age(decay);
        carried = affine_product(carried, decay);
        bag.add(x, rule.adjust || first ? 1 : rule.alpha);
        count++;
    }
    __host__ __device__ void merge(const EwmDecayed &right) {
        if (affine_is_cut(right.carried)) {
            *this = right;
            return;
        }
        if (right.count == 0) {
            gap = affine_product(gap, right.gap);
            return;
        }
        const double decay = affine_product(gap, right.carried);
        age(decay);
        carried = affine_product(carried, decay);
        gap = right.gap;
        bag.join(right.bag);
        count += right.count;
    }
    __host__ __device__ double output(const EwmCase &rule, size_t) const {
        return count < rule.min_periods ? rule.incomplete : bag.finish(rule.agg == EWM_STD);
    }
    __host__ __device__ void age(double decay) {
        if (decay > 0)
            bag.scale(decay);
        else
            bag = {};
    }
};

/* The run's first observation is kept apart from the rest, because its weight depends on what is before the run. If nothing is,
 * the weights of both together are 1. */
template <typename Bag> struct EwmRestarted {
    Bag rest;
    double first = 0, share = 0; /* the first observation and its weight */
    double lead = 1;             /* decay from before the run to its first observation; a cut after a segment start */
    double gap = 1;              /* decay since its last */
    double alpha = 0;            /* the case's, once there is an observation */
    unsigned long long count = 0;

    __host__ __device__ void push(const EwmCase &rule, double x, bool begins) {
        if (begins) {
            *this = {};
            lead = affine_cut<double>();
        }
        const double decay = affine_product(gap, rule.q);
        if (!(x == x)) {
            gap = decay;
            return;
        }
        gap = 1;
        alpha = rule.alpha;
        if (count++ == 0) {
            lead = affine_product(lead, decay);
            first = x;
            share = 1;
        } else {
            append(decay, x, 1);
        }
    }
    __host__ __device__ void merge(const EwmRestarted &right) {
        if (affine_is_cut(right.lead)) {
            *this = right;
            return;
        }
        if (right.count == 0) {
            gap = affine_product(gap, right.gap);
            return;
        }
        const double decay = affine_product(gap, right.lead);
        if (count == 0) {
            const double before = lead;
            *this = right;
            lead = affine_product(before, decay);
            return;
        }
        append(decay, right.first, right.share);
        rest.join(right.rest);
        gap = right.gap;
        count += right.count;
    }
    __host__ __device__ double output(const EwmCase &rule, size_t) const {
        return count < rule.min_periods ? rule.incomplete : all().finish(rule.agg == EWM_STD);
    }
    __host__ __device__ Bag all() const {
        Bag both = rest;
        if (share > EWM_NEGLIGIBLE || (share > 0 && !isfinite(first))) both.add(first, share);
        return both;
    }
    /* An observation x after a decay. `kept`: the share of x and all before it in the run that x begins, at the end of that run. */
    __host__ __device__ void append(double decay, double x, double kept) {
        const double total = decay + alpha, old = affine_product(decay / total, kept), own = affine_product(alpha / total, kept);
        share = affine_product(share, old);
        if (old > 0)
            rest.scale(old);
        else
            rest = {};
        if (own > EWM_NEGLIGIBLE || (own > 0 && !isfinite(x))) rest.add(x, own);
    }
};

/* shuffle() for block_scan.cuh: states travel between lanes in words of four bytes. */
template <bool UP, typename State> __device__ State ewm_shuffle(const State &state, unsigned distance) {
    static_assert(sizeof(State) % sizeof(unsigned) == 0);
    unsigned words[sizeof(State) / sizeof(unsigned)];
    memcpy(words, &state, sizeof state);
#pragma unroll
    for (unsigned &word : words) word = shuffle_value<UP>(word, distance);
    State other;
    memcpy(&other, words, sizeof other);
    return other;
}
template <bool UP> __device__ EwmPlain shuffle(const EwmPlain &state, unsigned distance) {
    return {shuffle<UP>(state.map, distance)};
}
template <bool UP, typename Bag> __device__ EwmDecayed<Bag> shuffle(const EwmDecayed<Bag> &state, unsigned distance) {
    return ewm_shuffle<UP>(state, distance);
}
template <bool UP, typename Bag> __device__ EwmRestarted<Bag> shuffle(const EwmRestarted<Bag> &state, unsigned distance) {
    return ewm_shuffle<UP>(state, distance);
}

/* Which state a case needs; bags of sums for means, of moments for var and std. */
enum EwmStateKind { EWM_PLAIN, EWM_DECAYED_SUM, EWM_DECAYED_MOMENTS, EWM_RESTARTED_SUM, EWM_RESTARTED_MOMENTS };

static inline EwmStateKind ewm_state_kind(const EwmCase *rule) {
    const bool mean = rule->agg == EWM_MEAN;
    if (rule->nan_decays && !rule->adjust) return mean ? EWM_RESTARTED_SUM : EWM_RESTARTED_MOMENTS;
    if (!rule->nan_decays && mean && !rule->segments) return EWM_PLAIN;
    return mean ? EWM_DECAYED_SUM : EWM_DECAYED_MOMENTS;
}

/* What call.operator()<State>() returns for the kind of state that the case needs. */
template <typename Call> static auto ewm_with_state(const EwmCase &rule, Call call) {
    switch (ewm_state_kind(&rule)) {
    case EWM_PLAIN:
        return call.template operator()<EwmPlain>();
    case EWM_DECAYED_SUM:
        return call.template operator()<EwmDecayed<WeightedSum>>();
    case EWM_DECAYED_MOMENTS:
        return call.template operator()<EwmDecayed<WeightedMoments>>();
    case EWM_RESTARTED_SUM:
        return call.template operator()<EwmRestarted<WeightedSum>>();
    default:
        return call.template operator()<EwmRestarted<WeightedMoments>>();
    }
}
/* What call.operator()<T, State>() returns, T being the dtype of the data. */
template <typename Call> static auto ewm_with_types(const VariantArgs *args, Call call) {
    return ewm_with_state(ewm_case(args), [args, call]<typename State>() {
        return args->problem->dtype == DTYPE_F64 ? call.template operator()<double, State>()
                                                 : call.template operator()<float, State>();
    });
}

/* The same of a variant that takes f16 and bf16, too. */
template <typename Call> static auto ewm_with_storage(const VariantArgs *args, Call call) {
    return ewm_with_state(ewm_case(args), [args, call]<typename State>() {
        switch (args->problem->dtype) {
        case DTYPE_F64:
            return call.template operator()<double, State>();
        case DTYPE_F16:
            return call.template operator()<__half, State>();
        case DTYPE_BF16:
            return call.template operator()<__nv_bfloat16, State>();
        default:
            return call.template operator()<float, State>();
        }
    });
}

static inline size_t ewm_state_bytes(const EwmCase &rule) {
    return ewm_with_state(rule, [&]<typename State>() { return sizeof(State); });
}

/* The window of the truncated tiles: 10 spans, span = 2 / alpha - 1. Rounding must not make 10 * 300 one more than 3000. */
static inline double ewm_window_length(const EwmCase *rule) {
    return ceil(10 * (1 + rule->q) / rule->alpha * (1 - 0x1p-40));
}

static inline bool ewm_fits_grid(const VariantArgs *args, size_t outputs_per_block, char reason[REASON_MAX]) {
    const size_t n = array_count(&args->in[0]), blocks = divide_up(n, outputs_per_block);
    if (blocks <= GRID_BLOCKS_MAX) return true;
    return variant_refuse(reason, "n=%zu needs %zu blocks of %zu outputs; a grid holds %zu", n, blocks, outputs_per_block,
                          GRID_BLOCKS_MAX);
}
