/* Stand-in for CUB's DeviceScan in the emulator (CUB itself is inline PTX): the same calls, one thread, in order. The two-phase
 * protocol is kept: called without temporary memory it says how much it needs, and that memory is then written, so that a buffer
 * too small is found. */
#ifndef RUNGS_EMULATOR_CUB_DEVICE_SCAN_CUH
#define RUNGS_EMULATOR_CUB_DEVICE_SCAN_CUH

#include "kernel.h"

#include <iterator>

namespace cub {

struct EmulatedSum {
    template <typename A, typename B> auto operator()(const A &a, const B &b) const { return a + b; }
};

template <bool INCLUSIVE, typename In, typename Out, typename Op, typename T>
__global__ void emulated_device_scan(In in, Out out, size_t n, Op op, T initial, bool has_initial, unsigned char *temporary) {
    temporary[0] = 1;
    T carry = initial;
    for (size_t i = 0; i < n; i++) {
        const T own = in[i]; /* before out[i]: they may be the same memory */
        if (!INCLUSIVE) out[i] = carry;
        carry = i == 0 && !has_initial ? own : static_cast<T>(op(carry, own));
        if (INCLUSIVE) out[i] = carry;
    }
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
        if (!temporary) {
            bytes = 256;
            return cudaSuccess;
        }
        if (bytes < 256) return cudaErrorInvalidValue;
        const Status status = launch(emulated_device_scan<INCLUSIVE, In, Out, Op, T>, {dim3(1), dim3(1), 0, stream}, in, out, n, op,
                                     initial, has_initial, static_cast<unsigned char *>(temporary));
        return status == STATUS_OK ? cudaSuccess : cudaErrorInvalidValue;
    }
};

} // namespace cub

#endif
