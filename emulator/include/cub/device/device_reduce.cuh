/* Stand-in for CUB's DeviceReduce in the emulator (CUB itself is inline PTX): the same calls, by one thread, which adds up tiles
 * and then the tiles' sums. The two-phase protocol is kept: called without temporary memory it says how much it needs, and that
 * memory is then written, so that a buffer too small is found. */
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
        if (!temporary) {
            bytes = 256;
            return cudaSuccess;
        }
        if (bytes < 256) return cudaErrorInvalidValue;
        return emulated_launch("cub::DeviceReduce", emulated_device_sum<T, In, Out>, stream, in, out, n,
                               static_cast<unsigned char *>(temporary));
    }
};

} // namespace cub
