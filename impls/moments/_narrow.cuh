/* _narrow.cuh - a thread's sums of columns of 8 or 16 bits, in float: half the pipes of double are too few for as many elements
 * as memory delivers.
 *
 * A float has neither the range nor the digits for powers of distances from any point. So a thread takes them from the mean of a
 * few of its lines, in units of a power of two near their spread. At its end they become sums in double about the point that all
 * threads share. Where the units were wrong, as where the spread of those is nothing beside an outlier, the fourth powers
 * leave the floats' range, and the thread reads that column of its part again, in double. */
#pragma once

#include "_slab.cuh"
#include "common/async_copy.cuh"

/* Two elements, for extremes: minima and maxima that keep a NaN. Elements of 8 bits become halves, which is exact. */
template <typename T> static __device__ inline typename PairOf<T>::Type pair_at(const Pack<T, 8> &pack, unsigned k) {
    typename PairOf<T>::Type pair;
    if constexpr (sizeof(T) == 2) {
        memcpy(&pair, &pack.at[2 * k], sizeof pair);
    } else {
        __nv_fp8x2_storage_t both;
        memcpy(&both, &pack.at[2 * k], sizeof both);
        pair = __half2(__nv_cvt_fp8x2_to_halfraw2(both, std::is_same_v<T, __nv_fp8_e4m3> ? __NV_E4M3 : __NV_E5M2));
    }
    return pair;
}
template <typename T, int ORDER> struct NarrowColumns {
    using Pair = typename PairOf<T>::Type;
    static constexpr unsigned SIZE = PACK<T>;
    static constexpr size_t OPENING = 4; /* lines whose mean is the center */

    float center[SIZE], scale[SIZE];
    float s[ORDER][SIZE] = {}; /* s[p - 1] = sum ((x - center) scale)^p */
    Pair low[SIZE / 2], high[SIZE / 2];

    /* From lines all over the `count` of the thread, `stride` elements apart from `from` on: in a sorted column the first ones are
     * far from the mean of all. */
    __device__ void open(const T *from, size_t stride, size_t count) {
        const unsigned opening = (unsigned)(count < OPENING ? count : OPENING);
        LinePack<T> batch[OPENING];
#pragma unroll
        for (unsigned u = 0; u < OPENING; u++)
            if (u < opening) batch[u] = pack_load(from + count * u / opening * stride);
#pragma unroll
        for (unsigned k = 0; k < SIZE / 2; k++) {
            float2 sum = {}, first = {};
            if (opening > 0) low[k] = high[k] = pair_at(batch[0], k), first = pair_wide(low[k]);
#pragma unroll
            for (unsigned u = 0; u < OPENING; u++) {
                if (u >= opening) continue;
                const Pair pair = pair_at(batch[u], k);
                const float2 x = pair_wide(pair);
                sum.x += x.x, sum.y += x.y;
                low[k] = __hmin2_nan(low[k], pair), high[k] = __hmax2_nan(high[k], pair);
            }
            const float2 least = pair_wide(low[k]), most = pair_wide(high[k]);
            settle(2 * k, sum.x / (float)opening, first.x, most.x - least.x);
            settle(2 * k + 1, sum.y / (float)opening, first.y, most.y - least.y);
        }
    }
    /* Never an infinity: every distance from it would be one, or NaN. */
    __device__ void settle(unsigned j, float mean, float first, float spread) {
        constexpr int MOST = 120;
        const float near = mean - mean == 0 ? mean : first;
        center[j] = near - near == 0 ? near : 0;
        /* Of equal elements: the least distance that another can have. */
        const float unit = spread > 0 ? spread : fabsf(center[j]) * 0x1p-8f;
        const int exponent = unit - unit == 0 && unit > 0 ? ilogbf(unit) : 0;
        scale[j] = ldexpf(1, exponent > MOST ? -MOST : exponent < -MOST ? MOST : -exponent);
        center[j] *= scale[j]; /* exact, or the sums are out of range */
    }
    __device__ void push(const LinePack<T> &pack) {
        static_assert(ORDER == 4 || ORDER == 6);
#pragma unroll
        for (unsigned k = 0; k < SIZE / 2; k++) {
            const Pair pair = pair_at(pack, k);
            low[k] = __hmin2_nan(low[k], pair);
            high[k] = __hmax2_nan(high[k], pair);
            const float2 x = pair_wide(pair);
            add(2 * k, x.x);
            add(2 * k + 1, x.y);
        }
    }
    __device__ void add(unsigned j, float x) {
        const float d = fmaf(x, scale[j], -center[j]), d2 = d * d;
        s[0][j] += d;
        s[1][j] = fmaf(d, d, s[1][j]);
        s[2][j] = fmaf(d2, d, s[2][j]);
        s[3][j] = fmaf(d2, d2, s[3][j]);
        if constexpr (ORDER > 4) {
            s[4][j] = fmaf(d2 * d2, d, s[4][j]);
            s[5][j] = fmaf(d2 * d2, d2, s[5][j]);
        }
    }
    /* Adds column j's `count` lines to the sums in double about `to->center`. False if they are to be read again. */
    __device__ bool join(unsigned j, size_t count, ShiftedColumn<float, ORDER> *to) const {
        const float2 lows = pair_wide(low[j / 2]), highs = pair_wide(high[j / 2]);
        const float least = j % 2 == 0 ? lows.x : lows.y, most = j % 2 == 0 ? highs.x : highs.y;
        to->extremes.push(least);
        to->extremes.push(most);
        if (!(most - most == 0 && least - least == 0)) return true; /* then the sums do not matter */
        const float largest = s[ORDER - 1][j];
        if (!(largest >= 0x1p-60f && largest <= 0x1p120f) && least < most) return false;
        const double unit = 1 / (double)scale[j];
        double sums[ORDER + 1] = {(double)count}, power = 1;
#pragma unroll
        for (int p = 1; p <= ORDER; p++) sums[p] = (double)s[p - 1][j] * (power *= unit);
        moments_shift<ORDER>(sums, (double)center[j] * unit - (double)to->center);
#pragma unroll
        for (int p = 1; p <= ORDER; p++) to->s[p - 1] += sums[p];
        return true;
    }
};

/* A thread's lines on their way through shared memory: registers could not hold as many as have to be in flight, beside the sums.
 * Nobody else reads them, so there is no barrier. */
template <typename T> struct NarrowLines {
    static constexpr unsigned STAGES = 8;
    LinePack<T> *ring; /* the thread's first; the next is blockDim.x away */
    const T *at;       /* of the line that is fetched next */
    size_t stride, left;

    __device__ void fetch(unsigned stage) {
        if constexpr (sizeof(LinePack<T>) == 16)
            async_copy_16(ring + stage * blockDim.x, at);
        else
            async_copy_8(ring + stage * blockDim.x, at);
        at += stride;
        left--;
        async_copy_group();
    }
    /* If there is one left. Groups are counted, so there is one, maybe of nothing. */
    __device__ void fetch_rest(unsigned stage) {
        if (left > 0)
            fetch(stage);
        else
            async_copy_group();
    }
    __device__ LinePack<T> arrived(unsigned stage) const {
        using Whole = std::conditional_t<sizeof(LinePack<T>) == 16, int4, int2>;
        const Whole whole = *(const Whole *)(ring + stage * blockDim.x);
        LinePack<T> pack;
        memcpy(&pack, &whole, sizeof pack); /* one load, whatever is done with its parts */
        return pack;
    }
};

/* The sums of the calling thread's `count` lines. ring: NarrowLines::STAGES packs for each thread of the block. */
template <typename T, int ORDER>
static __device__ NarrowColumns<T, ORDER> narrow_sums(const MomentsView<T> &view, const MomentsPlan &plan, const MomentsPart &part,
                                                      size_t count, LinePack<T> *ring) {
    constexpr unsigned STAGES = NarrowLines<T>::STAGES;
    NarrowLines<T> lines = {ring + threadIdx.x, view.x + part.begin * plan.line + part.offset, plan.ty * plan.line, count};
    for (unsigned stage = 0; stage < STAGES; stage++) lines.fetch_rest(stage);
    NarrowColumns<T, ORDER> columns;
    columns.open(view.x + part.begin * plan.line + part.offset, lines.stride, count);
    while (lines.left >= STAGES) {
#pragma unroll
        for (unsigned stage = 0; stage < STAGES; stage++) {
            async_copy_wait_but<STAGES - 1>();
            columns.push(lines.arrived(stage));
            lines.fetch(stage);
        }
        count -= STAGES;
    }
#pragma unroll 1
    for (unsigned stage = 0; stage < count; stage++) {
        async_copy_wait_but<STAGES - 1>();
        columns.push(lines.arrived(stage % STAGES));
        lines.fetch_rest(stage % STAGES);
    }
    async_copy_wait();
    return columns;
}

template <typename T> static size_t narrow_ring_bytes(unsigned threads) {
    return NarrowLines<T>::STAGES * sizeof(LinePack<T>) * threads;
}
