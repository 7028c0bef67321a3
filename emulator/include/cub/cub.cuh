/* Stand-in for CUB in the emulator: the parts that the variants use. */
#pragma once

#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

namespace cub {

#ifndef CUB_NAMESPACE_BEGIN /* CUB's own <cub/util_type.cuh> has it */
template <typename Key, typename Value> struct KeyValuePair {
    Key key;
    Value value;
};
#endif

/* Of equal values the one whose key is less. */
struct ArgMax {
    template <typename Pair> __device__ Pair operator()(const Pair &a, const Pair &b) const {
        return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <typename Pair> __device__ Pair operator()(const Pair &a, const Pair &b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

} // namespace cub
