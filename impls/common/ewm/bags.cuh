/* bags.cuh - weighted observations, put together: what a mean, or a variance, needs of them.
 *
 * Both kinds have: the empty bag (a value-initialised object), add(x, w), scale(f) all weights by f > 0, join(other) in any order,
 * finish(root). Doubles for both dtypes: on the GPUs this is for, memory is slower. Nothing is subtracted but a mean from an
 * element or from another mean, so there is no cancellation whatever the data's offset; an inf or NaN that was added stays. */
#ifndef RUNGS_EWM_BAGS_CUH
#define RUNGS_EWM_BAGS_CUH

#include "common/ewm/case.h"
#include "kernel.h"

/* For means: sum of w x, sum of w. */
struct WeightedSum {
    double sum = 0, weight = 0;
    __host__ __device__ void add(double x, double w) {
        sum += w * x;
        weight += w;
    }
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

/* For variances: also the mean, the sum of w (x - mean)^2, and the sum of w_j w_k over pairs j < k, which is half of
 * (sum w)^2 - sum w^2 in the bias correction, without that difference. West 1979 for one element, Chan, Golub and LeVeque 1979 for
 * two bags; delta - delta is 0, or NaN once there is an inf. One observation has no pair: 0 / 0. */
struct WeightedMoments {
    double weight = 0, pairs = 0, mean = 0, squares = 0;
    __host__ __device__ void add(double x, double w) { join({w, 0, x, 0}); }
    __host__ __device__ void scale(double factor) {
        weight *= factor;
        pairs *= factor * factor;
        squares *= factor;
        if (!(weight > EWM_NEGLIGIBLE) && isfinite(mean)) *this = {}; /* its pairs, were they alone, would be 0 / 0 */
    }
    /* The mean starts from that of the heavier bag. From the other's it would keep the rounding of a step as large as that mean is:
     * of 1e16 that has all but decayed, 2. */
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

#endif
