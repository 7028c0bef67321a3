/* state.cuh - what is known of a run of elements of ewm, such that two adjoining runs make the state of both: the scans'
 * operator.
 *
 * Three of them, from the cheap case to the most general. Each has: the state of no element (a value-initialised object);
 * push(rule, x, first), where `first` says that a segment begins with x; merge(right), the state of this run and the one to its
 * right; output(rule, i), after all elements up to i.
 *   EwmPlain      nan=propagate, one segment, mean: the affine map y -> q y + x; the sum of the weights has a closed form.
 *   EwmDecayed    weights decay with time: every mode but the next.
 *   EwmRestarted  nan=decay with adjust=false: there pandas brings the sum of the weights back to 1 at every observation, so that
 *                 what a run does depends on how long ago the last observation before it was. */
#ifndef RUNGS_EWM_STATE_CUH
#define RUNGS_EWM_STATE_CUH

#include "common/affine.cuh"
#include "common/ewm/bags.cuh"
#include "common/ewm/case.h"

struct EwmPlain {
    Affine<double> map;
    __host__ __device__ void push(const EwmCase &rule, double x, bool first) {
        map.merge({first || rule.q == 0 ? affine_cut<double>() : rule.q, rule.adjust || first ? x : rule.alpha * x});
    }
    __host__ __device__ void merge(const EwmPlain &right) { map.merge(right.map); }
    /* The sum of i + 1 weights, (1 - q^(i+1)) / alpha, is 1 / alpha to the last bit where q^(i+1) < 2^-60. */
    __host__ __device__ double output(const EwmCase &rule, size_t i) const {
        const double steps = (double)i + 1;
        if (i + 1 < rule.min_periods) return rule.incomplete;
        if (!rule.adjust) return map.b;
        const double log_rest = steps * rule.log_q;
        return log_rest < -42 ? map.b * rule.alpha : map.b * rule.alpha / -expm1(log_rest);
    }
};

/* Weights are relative to that of the run's last observation, not to the present: after any number of NaN they are still there. */
template <typename Bag> struct EwmDecayed {
    Bag bag;
    double carried = 1;           /* factor of what came before the run, at its last observation; a cut where a segment began */
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
        forget(decay);
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
        forget(decay);
        carried = affine_product(carried, decay);
        gap = right.gap;
        bag.join(right.bag);
        count += right.count;
    }
    __host__ __device__ double output(const EwmCase &rule, size_t) const {
        return count < rule.min_periods ? rule.incomplete : bag.finish(rule.agg == EWM_STD);
    }

  private:
    __host__ __device__ void forget(double decay) {
        if (decay > 0)
            bag.scale(decay);
        else
            bag = {};
    }
};

/* The run's first observation apart from the rest, because its weight depends on what is before the run. The weights of both
 * together are 1 if nothing is. */
template <typename Bag> struct EwmRestarted {
    Bag rest;
    double first = 0, share = 0; /* the first observation and its weight */
    double lead = 1;             /* decay from before the run to its first observation; a cut where a segment began */
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
    /* If no segment has begun, there was an observation before the first, and `lead` is the decay since: the first is weighted
     * accordingly, and what was before is forgotten. No run can then be merged before this one. */
    __host__ __device__ void forget_earlier() {
        if (count != 1 || share == 0 || affine_is_cut(lead)) return;
        rest.add(first, alpha / (lead + alpha));
        share = 0;
    }
    __host__ __device__ double output(const EwmCase &rule, size_t) const {
        if (count < rule.min_periods) return rule.incomplete;
        Bag all = rest;
        if (share > EWM_NEGLIGIBLE || (share > 0 && !isfinite(first))) all.add(first, share);
        return all.finish(rule.agg == EWM_STD);
    }

  private:
    /* An observation x after a decay; of x and all before it together, `kept` is left later in the run that x begins. */
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

#endif
