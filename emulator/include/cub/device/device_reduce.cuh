/* Stand-in for CUB's DeviceReduce in the emulator (CUB itself is inline PTX): the same calls, by one thread, which adds up tiles
 * and then the tiles' sums. */
#pragma once

#include <cub/emulated_launch.cuh>

#include <type_traits>

namespace cub {

enum { REDUCE_TILE = 352 };

template <typename T, typename In, typename Out>
__global__ void emulated_device_sum(In in, Out out, size_t n, unsigned char *temporary) {
    temporary[0] = 1;
    T all = T();
    for (size_t tile = 0; tile < n; tile += REDUCE_TILE) {
        T own = T();
        for (size_t i = tile; i < n && i < tile + REDUCE_TILE; i++) own = own + in[i];
        all = all + own;
    }
    *out = all;
}

struct DeviceReduce {
    template <typename In, typename Out>
    static cudaError_t Sum(void *temporary, size_t &bytes, In in, Out out, size_t n, cudaStream_t stream = 0) {
        typedef std::remove_reference_t<decltype(*out)> T;
        return emulated_launch("cub::DeviceReduce", emulated_device_sum<T, In, Out>, temporary, bytes, stream, in, out, n);
    }
};

} // namespace cub
