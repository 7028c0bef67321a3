/* Stand-in for CUB's BlockReduce in the emulator. Only thread 0 gets the result, as in CUB; the others get their own value back,
 * which is as good as any. */
#ifndef RUNGS_EMULATOR_CUB_BLOCK_REDUCE_CUH
#define RUNGS_EMULATOR_CUB_BLOCK_REDUCE_CUH

#include "emulator/cuda.h"

namespace cub {

template <typename T, int BLOCK_X, int ALGORITHM = 0, int BLOCK_Y = 1, int BLOCK_Z = 1> class BlockReduce {
    static constexpr int THREADS = BLOCK_X * BLOCK_Y * BLOCK_Z;

  public:
    struct TempStorage {
        T values[THREADS];
    };

    __device__ explicit BlockReduce(TempStorage &storage) : storage_(storage) {}

    __device__ T Sum(T in) { return Reduce(in, add); }
    template <typename Op> __device__ T Reduce(T in, Op op) {
        const unsigned thread = (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x;
        storage_.values[thread] = in;
        __syncthreads();
        if (thread > 0) return in;
        for (int i = 1; i < THREADS; i++) in = op(in, storage_.values[i]);
        return in;
    }

  private:
    TempStorage &storage_;

    __device__ static T add(const T &a, const T &b) { return a + b; }
};

} // namespace cub

#endif
