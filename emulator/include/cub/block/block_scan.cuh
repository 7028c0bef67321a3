/* Stand-in for CUB's BlockScan in the emulator: the same calls and the same rule (a barrier before TempStorage is used again),
 * through shared memory, where one thread does the work. */
#pragma once

#include "emulator/cuda.h"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <typename T, int BLOCK_X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int BLOCK_Y = 1, int BLOCK_Z = 1> class BlockScan {
    static constexpr int THREADS = BLOCK_X * BLOCK_Y * BLOCK_Z;

  public:
    struct TempStorage {
        T values[THREADS];
        T aggregate, seed;
    };

    __device__ explicit BlockScan(TempStorage &storage) : storage_(storage) {}

    __device__ void InclusiveSum(T in, T &out) { InclusiveScan(in, out, add); }
    __device__ void InclusiveSum(T in, T &out, T &aggregate) { InclusiveScan(in, out, add, aggregate); }
    __device__ void ExclusiveSum(T in, T &out) { ExclusiveScan(in, out, T(), add); }
    __device__ void ExclusiveSum(T in, T &out, T &aggregate) { ExclusiveScan(in, out, T(), add, aggregate); }

    template <typename Op> __device__ void InclusiveScan(T in, T &out, Op op) {
        T aggregate;
        InclusiveScan(in, out, op, aggregate);
    }
    template <typename Op> __device__ void InclusiveScan(T in, T &out, Op op, T &aggregate) {
        const unsigned thread = place(in);
        if (thread == 0) {
            for (int i = 1; i < THREADS; i++) storage_.values[i] = op(storage_.values[i - 1], storage_.values[i]);
            storage_.aggregate = storage_.values[THREADS - 1];
        }
        take(thread, out, aggregate);
    }
    template <typename Op> __device__ void ExclusiveScan(T in, T &out, T initial, Op op) {
        T aggregate;
        ExclusiveScan(in, out, initial, op, aggregate);
    }
    /* The aggregate leaves `initial` out. */
    template <typename Op> __device__ void ExclusiveScan(T in, T &out, T initial, Op op, T &aggregate) {
        const unsigned thread = place(in);
        if (thread == 0) {
            T before = initial, all = storage_.values[0];
            for (int i = 0; i < THREADS; i++) {
                const T own = storage_.values[i];
                if (i > 0) all = op(all, own);
                storage_.values[i] = before;
                before = op(before, own);
            }
            storage_.aggregate = all;
        }
        take(thread, out, aggregate);
    }

    /* Several items of each thread; the callback is warp 0's, and what its first lane returns comes before all items. */
    template <int ITEMS> __device__ void InclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS]) { InclusiveScan(in, out, add); }
    template <int ITEMS> __device__ void InclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS], T &aggregate) {
        InclusiveScan(in, out, add, aggregate);
    }
    template <int ITEMS> __device__ void ExclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS]) {
        T aggregate;
        ExclusiveSum(in, out, aggregate);
    }
    template <int ITEMS> __device__ void ExclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS], T &aggregate) {
        ExclusiveScan(in, out, T(), add, aggregate);
    }
    template <int ITEMS, typename Op> __device__ void InclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], Op op) {
        T aggregate;
        InclusiveScan(in, out, op, aggregate);
    }
    template <int ITEMS, typename Op> __device__ void InclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], Op op, T &aggregate) {
        aggregate = put_together(in, op);
        spread<true>(in, out, op, nullptr);
    }
    template <int ITEMS, typename Op, typename Prefix>
    __device__ void InclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], Op op, Prefix &prefix) {
        const T seed = seed_of(prefix, put_together(in, op));
        spread<true>(in, out, op, &seed);
    }
    template <int ITEMS, typename Op> __device__ void ExclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], T initial, Op op) {
        T aggregate;
        ExclusiveScan(in, out, initial, op, aggregate);
    }
    template <int ITEMS, typename Op>
    __device__ void ExclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], T initial, Op op, T &aggregate) {
        aggregate = put_together(in, op);
        spread<false>(in, out, op, &initial);
    }

  private:
    TempStorage &storage_;

    /* Into storage the threads' items, up to and with each; all of them. */
    template <int ITEMS, typename Op> __device__ T put_together(T (&in)[ITEMS], Op op) {
        T own = in[0];
        for (int i = 1; i < ITEMS; i++) own = op(own, in[i]);
        T ignored, all;
        InclusiveScan(own, ignored, op, all);
        return all;
    }
    template <typename Prefix> __device__ T seed_of(Prefix &prefix, T aggregate) {
        const unsigned thread = number();
        if (thread < 32) {
            const T seed = prefix(aggregate);
            if (thread == 0) storage_.seed = seed;
        }
        __syncthreads();
        return storage_.seed;
    }
    template <bool INCLUSIVE, int ITEMS, typename Op>
    __device__ void spread(T (&in)[ITEMS], T (&out)[ITEMS], Op op, const T *seed) {
        const unsigned thread = number();
        bool any = thread > 0 || seed;
        T before = thread > 0 ? storage_.values[thread - 1] : T();
        if (seed) before = thread > 0 ? op(*seed, before) : *seed;
        for (int i = 0; i < ITEMS; i++) {
            const T with = any ? op(before, in[i]) : in[i];
            out[i] = INCLUSIVE ? with : before;
            before = with;
            any = true;
        }
    }

    __device__ static T add(const T &a, const T &b) { return a + b; }
    __device__ static unsigned number() { return (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x; }
    __device__ unsigned place(T in) {
        const unsigned thread = number();
        storage_.values[thread] = in;
        __syncthreads();
        return thread;
    }
    __device__ void take(unsigned thread, T &out, T &aggregate) {
        __syncthreads();
        out = storage_.values[thread];
        aggregate = storage_.aggregate;
    }
};

} // namespace cub
