/* Stand-in for CUB's BlockAdjacentDifference in the emulator: each item and the one before it, or after it, in the block. */
#pragma once

#include "emulator/cuda.h"

namespace cub {

template <typename T, int BLOCK_X, int BLOCK_Y = 1, int BLOCK_Z = 1> class BlockAdjacentDifference {
    static constexpr int THREADS = BLOCK_X * BLOCK_Y * BLOCK_Z;

  public:
    struct TempStorage {
        T first[THREADS], last[THREADS];
    };

    __device__ explicit BlockAdjacentDifference(TempStorage &storage) : storage_(storage) {}

    template <int ITEMS, typename Out, typename Op> __device__ void SubtractLeft(T (&in)[ITEMS], Out (&out)[ITEMS], Op op) {
        left(in, out, op, nullptr);
    }
    template <int ITEMS, typename Out, typename Op>
    __device__ void SubtractLeft(T (&in)[ITEMS], Out (&out)[ITEMS], Op op, T before) {
        left(in, out, op, &before);
    }
    template <int ITEMS, typename Out, typename Op> __device__ void SubtractRight(T (&in)[ITEMS], Out (&out)[ITEMS], Op op) {
        right(in, out, op, nullptr);
    }
    template <int ITEMS, typename Out, typename Op>
    __device__ void SubtractRight(T (&in)[ITEMS], Out (&out)[ITEMS], Op op, T after) {
        right(in, out, op, &after);
    }

  private:
    TempStorage &storage_;

    template <int ITEMS> __device__ int share(T (&in)[ITEMS]) {
        const int thread = (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x;
        storage_.first[thread] = in[0];
        storage_.last[thread] = in[ITEMS - 1];
        __syncthreads();
        return thread;
    }
    /* `in` and `out` may be one array. */
    template <int ITEMS, typename Out, typename Op> __device__ void left(T (&in)[ITEMS], Out (&out)[ITEMS], Op op, T *before) {
        const int thread = share(in);
        T *other = thread > 0 ? &storage_.last[thread - 1] : before;
        for (int i = ITEMS - 1; i > 0; i--) out[i] = op(in[i], in[i - 1]);
        out[0] = other ? op(in[0], *other) : in[0];
    }
    template <int ITEMS, typename Out, typename Op> __device__ void right(T (&in)[ITEMS], Out (&out)[ITEMS], Op op, T *after) {
        const int thread = share(in);
        T *other = thread < THREADS - 1 ? &storage_.first[thread + 1] : after;
        for (int i = 0; i < ITEMS - 1; i++) out[i] = op(in[i], in[i + 1]);
        out[ITEMS - 1] = other ? op(in[ITEMS - 1], *other) : in[ITEMS - 1];
    }
};

} // namespace cub
