/* Stand-in for CUB's DeviceSegmentedReduce in the emulator: by one thread, which puts each segment together tile by tile. */
#pragma once

#include <cub/emulated_launch.cuh>

namespace cub {

enum { SEGMENT_TILE = 352 };

template <typename In, typename Out, typename Begin, typename End, typename Op, typename T>
__global__ void emulated_segmented_reduce(In in, Out out, Begin begin, End end, size_t segments, Op op, T initial,
                                          unsigned char *temporary) {
    temporary[0] = 1;
    for (size_t s = 0; s < segments; s++) {
        T all = initial;
        for (long long tile = begin[s]; tile < end[s]; tile += SEGMENT_TILE) {
            T own = in[tile];
            for (long long i = tile + 1; i < end[s] && i < tile + SEGMENT_TILE; i++) own = op(own, in[i]);
            all = op(all, own);
        }
        out[s] = all;
    }
}

struct DeviceSegmentedReduce {
    template <typename In, typename Out, typename Begin, typename End, typename Op, typename T>
    static cudaError_t Reduce(void *temporary, size_t &bytes, In in, Out out, long long segments, Begin begin, End end, Op op,
                              T initial, cudaStream_t stream = 0) {
        return emulated_launch("cub::DeviceSegmentedReduce", emulated_segmented_reduce<In, Out, Begin, End, Op, T>, temporary,
                               bytes, stream, in, out, begin, end, (size_t)segments, op, initial);
    }
};

} // namespace cub
