/* shuffles.cuh - the aggregates of rolling/accumulators.cuh for the scans and reductions of block_scan.cuh. */
#ifndef RUNGS_ROLLING_SHUFFLES_CUH
#define RUNGS_ROLLING_SHUFFLES_CUH

#include "common/block_scan.cuh"
#include "common/rolling/accumulators.cuh"

template <bool UP, typename T> __device__ Sum<T> shuffle(const Sum<T> &a, unsigned distance) {
    return {shuffle_value<UP>(a.sum, distance)};
}
template <bool UP, typename T, bool IS_MIN> __device__ Extreme<T, IS_MIN> shuffle(const Extreme<T, IS_MIN> &a, unsigned distance) {
    return {shuffle_value<UP>(a.value, distance)};
}
template <bool UP, typename T> __device__ Moments<T> shuffle(const Moments<T> &a, unsigned distance) {
    return {shuffle_value<UP>(a.count, distance), shuffle_value<UP>(a.mean, distance), shuffle_value<UP>(a.m2, distance)};
}

#endif
