/* gate_slots.cuh - parts of rows of gates (gates.cuh) in shared memory: neighbouring lanes load and store neighbouring vectors, and
 * a lane works on VECTORS vectors in a row, so that a warp scans its lanes once. What waits there takes no registers. */
#pragma once

#include "common/bulk_copy.cuh"
#include "common/discounted_cumsum/gates.cuh"

/* A warp's part of an array: vectors in the order of the sums, in each the elements as they lie in memory. */
template <typename T, bool RIGHT, unsigned VECTORS> struct GateSlots {
    typedef GatePart<T, RIGHT, VECTORS> Part;
    static constexpr unsigned LENGTH = Part::LENGTH;
    typedef Pack<T, LENGTH> Vector;
    Vector *warp;

    /* The part of the calling warp of array `which`. */
    __device__ GateSlots(Vector *all, unsigned which) {
        warp = all + (which * (blockDim.x / WARP) + threadIdx.x / WARP) * VECTORS * WARP;
    }
    /* Eight lanes at a time read 16 bytes each: these are in banks of their own, side by side as well as VECTORS apart. */
    __device__ Vector &at(unsigned index) const { return warp[index ^ index / 8 % VECTORS]; }
    __device__ Vector &own(unsigned v) const { return at(threadIdx.x % WARP * VECTORS + v); } /* the lane's */
    /* The vector that the lane loads and stores in step v, that of part.low(v). */
    __device__ Vector &moved(unsigned v) const { return at(v * WARP + threadIdx.x % WARP); }

    /* Element k of a vector in the order of the sums. */
    static __device__ T &element(Vector &vector, unsigned k) { return vector.at[Part::Line::at(0, k)]; }

    /* Begins to load. The lane may use what it loaded after async_copy_wait(), others after a barrier, too. */
    __device__ void load(const T *from, const Part &part, bool packed, T otherwise) const {
        if (part.whole) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) async_copy_16(&moved(v), from + part.low(v));
            return;
        }
#pragma unroll 1
        for (unsigned v = 0; v < VECTORS; v++) {
            T in[LENGTH];
            part.line.load(from, part.low(v), packed, otherwise, in);
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) element(moved(v), k) = in[k];
        }
    }
    /* Has the L2 fetch it. */
    static __device__ void fetch(const T *from, const Part &part) {
        if (part.whole && threadIdx.x % WARP == (RIGHT ? WARP - 1 : 0))
            bulk_prefetch(from + part.low(RIGHT ? VECTORS - 1 : 0), VECTORS * WARP * (unsigned)sizeof(Vector));
    }
    /* After a barrier of the warp. */
    __device__ void store(T *to, const Part &part, bool packed) const {
        if (part.whole) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) *(Vector *)(to + part.low(v)) = moved(v);
            return;
        }
#pragma unroll 1
        for (unsigned v = 0; v < VECTORS; v++) {
            T out[LENGTH];
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) out[k] = element(moved(v), k);
            part.line.store(to, part.low(v), packed, out);
        }
    }
};

/* Waits for what the warp loads, and makes its factors what maps take: a cut where a segment begins, and no other -0. starts: the
 * line's first element is a cut, too. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ void wait_for_gates(const DiscountView<T> &view, const GatePart<T, RIGHT, VECTORS> &part, bool again, bool starts,
                                      const GateSlots<T, RIGHT, VECTORS> &factors) {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    typedef SumOf<T> Sum;
    typename Slots::Part::Resets resets[VECTORS];
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++)
        resets[v] = part.whole ? part.template load_resets<true>(view.reset, v) : part.template load_resets<false>(view.reset, v);
    async_copy_wait();
    if (again || view.reset) {
        const long long first = RIGHT ? part.line.end - 1 : part.line.begin;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++)
#pragma unroll
            for (unsigned k = 0; k < Slots::LENGTH; k++) {
                T &factor = Slots::element(factors.moved(v), k);
                const bool cut = Slots::Part::is_reset(resets[v], k) || (starts && part.line.at(part.low(v), k) == first);
                factor = (T)(cut ? affine_cut<Sum>() : affine_factor((Sum)factor));
            }
    }
    __syncwarp();
}
