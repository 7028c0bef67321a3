/* Stand-in for CUB's BlockScan in the emulator: the same calls and the same rule (a barrier before TempStorage is used again),
 * through shared memory, where one thread does the work. */
#pragma once

#include "emulator/cuda.h"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <typename T, int BLOCK_X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int BLOCK_Y = 1, int BLOCK_Z = 1> class BlockScan {
    static constexpr int THREADS = BLOCK_X * BLOCK_Y * BLOCK_Z;

  public:
    struct TempStorage {
        T values[THREADS];
        T aggregate;
    };

    __device__ explicit BlockScan(TempStorage &storage) : storage_(storage) {}

    __device__ void InclusiveSum(T in, T &out) { InclusiveScan(in, out, add); }
    __device__ void InclusiveSum(T in, T &out, T &aggregate) { InclusiveScan(in, out, add, aggregate); }
    __device__ void ExclusiveSum(T in, T &out) { ExclusiveScan(in, out, T(), add); }
    __device__ void ExclusiveSum(T in, T &out, T &aggregate) { ExclusiveScan(in, out, T(), add, aggregate); }

    template <typename Op> __device__ void InclusiveScan(T in, T &out, Op op) {
        T aggregate;
        InclusiveScan(in, out, op, aggregate);
    }
    template <typename Op> __device__ void InclusiveScan(T in, T &out, Op op, T &aggregate) {
        const unsigned thread = place(in);
        if (thread == 0) {
            for (int i = 1; i < THREADS; i++) storage_.values[i] = op(storage_.values[i - 1], storage_.values[i]);
            storage_.aggregate = storage_.values[THREADS - 1];
        }
        take(thread, out, aggregate);
    }
    template <typename Op> __device__ void ExclusiveScan(T in, T &out, T initial, Op op) {
        T aggregate;
        ExclusiveScan(in, out, initial, op, aggregate);
    }
    /* The aggregate leaves `initial` out. */
    template <typename Op> __device__ void ExclusiveScan(T in, T &out, T initial, Op op, T &aggregate) {
        const unsigned thread = place(in);
        if (thread == 0) {
            T before = initial, all = storage_.values[0];
            for (int i = 0; i < THREADS; i++) {
                const T own = storage_.values[i];
                if (i > 0) all = op(all, own);
                storage_.values[i] = before;
                before = op(before, own);
            }
            storage_.aggregate = all;
        }
        take(thread, out, aggregate);
    }

  private:
    TempStorage &storage_;

    __device__ static T add(const T &a, const T &b) { return a + b; }
    __device__ unsigned place(T in) {
        const unsigned thread = (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x;
        storage_.values[thread] = in;
        __syncthreads();
        return thread;
    }
    __device__ void take(unsigned thread, T &out, T &aggregate) {
        __syncthreads();
        out = storage_.values[thread];
        aggregate = storage_.aggregate;
    }
};

} // namespace cub
