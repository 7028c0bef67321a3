/* shuffles.cuh - a sum for the reductions of block_scan.cuh. Used by discounted_cumsum_grad alone; rolling has its own. */
#ifndef RUNGS_ROLLING_SHUFFLES_CUH
#define RUNGS_ROLLING_SHUFFLES_CUH

#include "common/block_scan.cuh"
#include "common/device_limits.cuh"
#include "variant.h"

#include <string.h>

template <typename T> struct Sum {
    T sum = 0;
    __device__ void push(T x) { sum += x; }
    __device__ void merge(const Sum &other) { sum += other.sum; }
};

template <bool UP, typename T> __device__ Sum<T> shuffle(const Sum<T> &a, unsigned distance) {
    return {shuffle_value<UP>(a.sum, distance)};
}

#endif
