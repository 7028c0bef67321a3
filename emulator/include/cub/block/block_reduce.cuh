/* Stand-in for CUB's BlockReduce in the emulator. Only thread 0 gets the result, as in CUB; the others get their own value back,
 * which is as good as any. */
#pragma once

#include "emulator/cuda.h"

namespace cub {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

template <typename T, int BLOCK_X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_Y = 1, int BLOCK_Z = 1>
class BlockReduce {
    static constexpr int THREADS = BLOCK_X * BLOCK_Y * BLOCK_Z;

  public:
    struct TempStorage {
        T values[THREADS];
    };

    __device__ explicit BlockReduce(TempStorage &storage) : storage_(storage) {}

    __device__ T Sum(T in, int valid = THREADS) { return Reduce(in, add, valid); }
    template <int ITEMS> __device__ T Sum(T (&in)[ITEMS]) { return Reduce(in, add); }
    template <int ITEMS, typename Op> __device__ T Reduce(T (&in)[ITEMS], Op op) {
        T own = in[0];
        for (int i = 1; i < ITEMS; i++) own = op(own, in[i]);
        return Reduce(own, op);
    }
    template <typename Op> __device__ T Reduce(T in, Op op, int valid = THREADS) {
        const unsigned thread = (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x;
        storage_.values[thread] = in;
        __syncthreads();
        if (thread > 0) return in;
        for (int i = 1; i < valid; i++) in = op(in, storage_.values[i]);
        return in;
    }

  private:
    TempStorage &storage_;

    __device__ static T add(const T &a, const T &b) { return a + b; }
};

} // namespace cub
