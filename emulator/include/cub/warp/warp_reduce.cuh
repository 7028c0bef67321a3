/* Stand-in for CUB's WarpReduce in the emulator. Only the first lane gets the result, as in CUB. */
#pragma once

#include "emulator/cuda.h"

namespace cub {

template <typename T, int LANES = 32> class WarpReduce {
  public:
    struct TempStorage {
        T values[LANES];
    };

    __device__ explicit WarpReduce(TempStorage &storage) : storage_(storage) {}

    __device__ T Sum(T in) { return Reduce(in, add); }
    template <typename Op> __device__ T Reduce(T in, Op op) {
        const unsigned lane = emulator_lane() % LANES, first = emulator_lane() - lane;
        const unsigned mask = (LANES == 32 ? 0xffffffffu : (1u << LANES % 32) - 1) << first;
        storage_.values[lane] = in;
        __syncwarp(mask);
        if (lane > 0) return in;
        for (int i = 1; i < LANES; i++) in = op(in, storage_.values[i]);
        return in;
    }

  private:
    TempStorage &storage_;

    __device__ static T add(const T &a, const T &b) { return a + b; }
};

} // namespace cub
