/* block_scan.cuh - scans and reductions of partial aggregates over a warp and a block, for any type with merge() that shuffle()
 * knows.
 *
 * Blocks are whole warps, 32 at most, and all threads of the block take part. A block-wide scan works through `totals`: shared
 * memory for one aggregate per warp; it may be used again once all threads are past a __syncthreads after the scan. */
#pragma once

#include "common/grid.cuh"

enum { WARP = 32, ALL_LANES = 0xffffffff };

/* The value of the lane `distance` below (UP) or above; the caller's own at the warp's end, as shuffles do. An aggregate's
 * shuffle<UP>(a, distance) does this for each of its members. */
template <bool UP, typename T> __device__ T shuffle_value(T value, unsigned distance) {
    return UP ? __shfl_up_sync((unsigned)ALL_LANES, value, distance) : __shfl_down_sync((unsigned)ALL_LANES, value, distance);
}

/* Lane 0 gets the aggregate of all lanes; the results of the others are not specified. */
template <typename A> __device__ A warp_reduce(A a) {
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2) a.merge(shuffle<false>(a, distance));
    return a;
}

/* The aggregate of lanes 0..lane (FORWARD) or lane..31. */
template <bool FORWARD, typename A> __device__ A warp_scan(A a) {
    const unsigned lane = threadIdx.x % WARP, before = FORWARD ? lane : WARP - 1 - lane;
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        A other = shuffle<FORWARD>(a, distance);
        if (before >= distance) {
            other.merge(a);
            a = other;
        }
    }
    return a;
}

/* The aggregate of all threads before this one (FORWARD) or behind it; *all gets that of the block. */
template <bool FORWARD, typename A> __device__ A block_scan_exclusive(A own, A *totals, A *all) {
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const A inclusive = warp_scan<FORWARD>(own);
    A exclusive = shuffle<FORWARD>(inclusive, 1);
    if (lane == (FORWARD ? 0 : WARP - 1)) exclusive = A();
    if (lane == (FORWARD ? WARP - 1 : 0)) totals[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
        const A scanned = warp_scan<FORWARD>(lane < warps ? totals[lane] : A());
        if (lane < warps) totals[lane] = scanned;
    }
    __syncthreads();
    if (FORWARD ? warp > 0 : warp + 1 < warps) {
        A outer = totals[FORWARD ? warp - 1 : warp + 1];
        outer.merge(exclusive);
        exclusive = outer;
    }
    *all = totals[FORWARD ? warps - 1 : 0];
    return exclusive;
}

/* Thread 0 gets the aggregate of all threads; the results of the others are not specified. */
template <typename A> __device__ A block_reduce(A a, A *totals) {
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    a = warp_reduce(a);
    if (lane == 0) totals[warp] = a;
    __syncthreads();
    if (warp == 0) a = warp_reduce(lane < warps ? totals[lane] : A());
    return a;
}
