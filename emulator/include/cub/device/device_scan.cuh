/* Stand-in for CUB's DeviceScan in the emulator (CUB itself is inline PTX): the same calls, by one thread. Elements are grouped as
 * there: items of a thread, threads of a tile, tiles; what is in a group is put together before what precedes it is known, so that
 * an operator that only appends single elements is found out, and sums round as trees do. */
#pragma once

#include <cub/emulated_launch.cuh>

#include <iterator>

namespace cub {

struct EmulatedSum {
    template <typename A, typename B> auto operator()(const A &a, const B &b) const { return a + b; }
};

enum { SCAN_ITEMS = 11, SCAN_THREADS = 32, SCAN_TILE = SCAN_ITEMS * SCAN_THREADS };

/* What has been put together so far, if anything has. */
template <typename Op, typename T> struct EmulatedPart {
    T value;
    bool any;
    void append(Op &op, const T &later) {
        value = any ? static_cast<T>(op(value, later)) : later;
        any = true;
    }
};

/* A tile is read twice, and every element before it is written: in and out may be the same memory. */
template <bool INCLUSIVE, typename In, typename Out, typename Op, typename T>
__device__ void emulated_scan(In in, Out out, size_t n, Op op, T initial, bool has_initial, unsigned char *temporary) {
    typedef EmulatedPart<Op, T> Part;
    temporary[0] = 1;
    Part before_tile = {initial, has_initial};
    for (size_t tile = 0; tile < n; tile += SCAN_TILE) {
        const size_t count = n - tile < SCAN_TILE ? n - tile : SCAN_TILE;
        Part threads[SCAN_THREADS] = {}, tile_so_far = {};
        for (size_t i = 0; i < count; i++) threads[i / SCAN_ITEMS].append(op, in[tile + i]);
        Part running = before_tile;
        for (size_t i = 0; i < count; i++) {
            if (i > 0 && i % SCAN_ITEMS == 0) {
                tile_so_far.append(op, threads[i / SCAN_ITEMS - 1].value);
                running = before_tile;
                running.append(op, tile_so_far.value);
            }
            const T own = in[tile + i];
            if (!INCLUSIVE) out[tile + i] = running.value;
            running.append(op, own);
            if (INCLUSIVE) out[tile + i] = running.value;
        }
        tile_so_far.append(op, threads[(count - 1) / SCAN_ITEMS].value);
        before_tile.append(op, tile_so_far.value);
    }
}
template <bool INCLUSIVE, typename In, typename Out, typename Op, typename T>
__global__ void emulated_device_scan(In in, Out out, size_t n, Op op, T initial, bool has_initial, unsigned char *temporary) {
    emulated_scan<INCLUSIVE>(in, out, n, op, initial, has_initial, temporary);
}

struct DeviceScan {
    template <typename In, typename Out>
    static cudaError_t InclusiveSum(void *temporary, size_t &bytes, In in, Out out, size_t n, cudaStream_t stream = 0) {
        using T = typename std::iterator_traits<In>::value_type;
        return run<true>(temporary, bytes, in, out, EmulatedSum(), T(), false, n, stream);
    }
    template <typename In, typename Out>
    static cudaError_t ExclusiveSum(void *temporary, size_t &bytes, In in, Out out, size_t n, cudaStream_t stream = 0) {
        using T = typename std::iterator_traits<In>::value_type;
        return run<false>(temporary, bytes, in, out, EmulatedSum(), T(), true, n, stream);
    }
    template <typename In, typename Out, typename Op>
    static cudaError_t InclusiveScan(void *temporary, size_t &bytes, In in, Out out, Op op, size_t n, cudaStream_t stream = 0) {
        using T = typename std::iterator_traits<In>::value_type;
        return run<true>(temporary, bytes, in, out, op, T(), false, n, stream);
    }
    template <typename In, typename Out, typename Op, typename T>
    static cudaError_t ExclusiveScan(void *temporary, size_t &bytes, In in, Out out, Op op, T initial, size_t n,
                                     cudaStream_t stream = 0) {
        return run<false>(temporary, bytes, in, out, op, initial, true, n, stream);
    }

  private:
    template <bool INCLUSIVE, typename In, typename Out, typename Op, typename T>
    static cudaError_t run(void *temporary, size_t &bytes, In in, Out out, Op op, T initial, bool has_initial, size_t n,
                           cudaStream_t stream) {
        return emulated_launch("cub::DeviceScan", emulated_device_scan<INCLUSIVE, In, Out, Op, T>, temporary, bytes, stream, in,
                               out, n, op, initial, has_initial);
    }
};

} // namespace cub
