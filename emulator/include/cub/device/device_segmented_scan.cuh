/* Stand-in for CUB's DeviceSegmentedScan in the emulator: a scan of each segment as DeviceScan's, by one thread. */
#pragma once

#include <cub/device/device_scan.cuh>

namespace cub {

template <typename In, typename Out, typename Begin, typename End, typename Op>
__global__ void emulated_segmented_scan(In in, Out out, Begin begin, End end, size_t segments, Op op, unsigned char *temporary) {
    using T = typename std::iterator_traits<In>::value_type;
    for (size_t s = 0; s < segments; s++)
        emulated_scan<true>(in + begin[s], out + begin[s], (size_t)(end[s] - begin[s]), op, T(), false, temporary);
}

struct DeviceSegmentedScan {
    template <typename In, typename Out, typename Begin, typename End, typename Op>
    static cudaError_t InclusiveSegmentedScan(void *temporary, size_t &bytes, In in, Out out, Begin begin, End end,
                                              long long segments, Op op, cudaStream_t stream = 0) {
        return emulated_launch("cub::DeviceSegmentedScan", emulated_segmented_scan<In, Out, Begin, End, Op>, temporary, bytes,
                               stream, in, out, begin, end, (size_t)segments, op);
    }
};

} // namespace cub
