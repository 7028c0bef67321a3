/* units.cuh - outputs of one thread by prefix and suffix, whatever the window.
 *
 * A unit is K consecutive outputs i0..i0+K-1 of one thread. The window of output r is
 *     left[r..K-1]      a suffix of the K elements from i0-w+1,
 *     the base          i0-w+1+K..i0-1, the same for the whole unit: w-1-K elements, so w > K is needed,
 *     own[0..r]         a prefix of the unit's own inputs,
 * one step of suffix, one of prefix and one merge per output. Nothing is subtracted. What differs between short and long windows is
 * only where the base comes from. */
#ifndef RUNGS_ROLLING_UNITS_CUH
#define RUNGS_ROLLING_UNITS_CUH

#include "common/rolling/accumulators.cuh"

/* Elements of a thread; odd, so that lanes K elements apart read from different banks. Suffixes of moments are two numbers, hence
 * fewer. */
template <Aggregate AGG> constexpr unsigned UNIT = aggregate_is_spread(AGG) ? 9 : 15;
enum { SMALL_UNIT = 3 };

template <typename A, unsigned K, typename T> __device__ A unit_aggregate(const T *elements) {
    A all;
#pragma unroll
    for (unsigned r = 0; r < K; r++) all.push(elements[r]);
    return all;
}

/* Overwrites own[0..K-1] with its outputs. Called by the whole block: others' left elements may be this thread's own, so everyone
 * reads before anyone writes. */
template <typename A, Aggregate AGG, unsigned K, typename T>
__device__ void unit_outputs(const T *left, const A &base, T *own, T window) {
    A suffix[K];
    A all;
#pragma unroll
    for (unsigned r = K; r-- > 0;) {
        all.push(left[r]);
        suffix[r] = all;
    }
    __syncthreads();
    A prefix;
#pragma unroll
    for (unsigned r = 0; r < K; r++) {
        prefix.push(own[r]);
        A output = prefix;
        output.merge(suffix[r]); /* always K + 1 elements: for moments the shares are constants */
        output.merge(base);
        own[r] = output.template finish<AGG>(window);
    }
}

/* to[j] = x[first - before + j] for j < count; 0, which no complete window sees, where that is outside the array. */
template <typename T> __device__ void unit_stage(const RollingView<T> &view, size_t first, size_t before, unsigned count, T *to) {
    if (first >= before && first - before + count <= view.n) {
        const T *from = view.x + (first - before);
#pragma unroll 4
        for (unsigned j = threadIdx.x; j < count; j += blockDim.x) to[j] = from[j];
        return;
    }
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const size_t shifted = first + j;
        to[j] = shifted >= before && shifted - before < view.n ? view.x[shifted - before] : 0;
    }
}

/* The block's outputs from shared memory, incomplete ones replaced. */
template <typename T> __device__ void unit_write(const RollingView<T> &view, size_t first, unsigned count, const T *outputs) {
    __syncthreads();
    for (unsigned j = threadIdx.x; j < count && first + j < view.n; j += blockDim.x)
        view.y[first + j] = first + j + 1 < view.window ? view.incomplete : outputs[j];
}

#endif
