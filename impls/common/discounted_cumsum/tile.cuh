/* tile.cuh - a tile of one row in the shared memory of a block, and its sums, where all elements of the row have one factor.
 *
 * A thread has `items` consecutive elements; items is odd (of elements of two bytes: twice an odd number), so that the lanes of a
 * warp, which read that far apart, use different banks. Positions within a tile count in the order of the sums; RIGHT: they grow as
 * addresses fall. Sums of a thread are in SumOf<T>, all else in double. Powers of the factor never become 0 nor infinite, as an
 * infinity times such a power stays what it is (affine.cuh).
 *
 *     tile_powers(factor, items, &powers);     shared memory, by the first two warps; a barrier before anyone reads it
 *     SumOf<T> sum = tile_thread_sum<T, RIGHT, UNROLL>(first, items, factor);  UNROLL: items if it is a constant, else about 8
 *     TileBefore before = tile_scan(sum, powers, totals);             what precedes the thread's elements within the tile
 *     tile_thread_write<T, RIGHT, UNROLL>(first, items, factor, (T)before.with(carry));      sums in place of the elements */
#pragma once

#include "common/affine.cuh"
#include "common/bulk_copy.cuh"
#include "common/discounted_cumsum/case.cuh"

enum { TILE_WARP_STEPS = 5 };

struct TilePowers {
    double lanes[WARP + 1]; /* factor^(items l) */
    double warps[WARP + 1]; /* factor^(items 32 w) */
};

/* factor^exponent by squaring, limited at the end. */
static __device__ inline double tile_power(double factor, unsigned exponent) {
    double power = 1, square = factor;
    for (unsigned e = exponent; e > 0; e /= 2) {
        if (e % 2) power *= square;
        if (e > 1) square *= square;
    }
    if (factor == 0) return power + 0;
    const double size = fabs(power);
    if (size > AffineRange<double>::LARGEST) return copysign(AffineRange<double>::LARGEST, power);
    return size > 0 ? power : copysign(AffineRange<double>::SMALLEST, power);
}

static __device__ inline void tile_powers(double factor, unsigned items, TilePowers *powers) {
    const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    if (warp == 0) powers->lanes[lane] = tile_power(factor, items * lane);
    if (warp == (warps > 1 ? 1 : 0)) powers->warps[lane] = tile_power(factor, items * WARP * lane);
    if (threadIdx.x == 0) powers->warps[WARP] = tile_power(factor, items * WARP * WARP);
}

/* The thread's first element in the order of the sums. length: of the tile, items blockDim.x. */
template <typename T, bool RIGHT> __device__ T *tile_first(T *tile, unsigned items) {
    return RIGHT ? tile + (blockDim.x - threadIdx.x) * items - 1 : tile + threadIdx.x * items;
}
/* The first element, by address, of the calling warp. */
template <bool RIGHT> __device__ unsigned tile_warp_begin(unsigned items) {
    const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    return (RIGHT ? warps - 1 - warp : warp) * WARP * items;
}

/* Elements of two bytes, a word of two at a time: sum = step(sum, element). WRITE: sums in place of the elements. */
template <typename T, bool RIGHT, unsigned UNROLL, bool WRITE, typename Step>
__device__ SumOf<T> tile_pairs(T *first, unsigned items, SumOf<T> sum, Step step) {
    constexpr unsigned TURNS = UNROLL > 1 ? UNROLL / 2 : 1;
    Pack<T, 2> *const words = (Pack<T, 2> *)(RIGHT ? first - 1 : first);
#pragma unroll TURNS
    for (unsigned k = 0; k < items / 2; k++) {
        Pack<T, 2> pair = words[RIGHT ? -(int)k : (int)k];
#pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            T &element = pair.at[RIGHT ? 1 - i : i];
            sum = step(sum, wide(element));
            if (WRITE) element = (T)sum;
        }
        if (WRITE) words[RIGHT ? -(int)k : (int)k] = pair;
    }
    return sum;
}

template <typename T, bool RIGHT, unsigned UNROLL>
__device__ SumOf<T> tile_thread_sum(const T *first, unsigned items, SumOf<T> factor) {
    if constexpr (sizeof(T) == 2) {
        return tile_pairs<T, RIGHT, UNROLL, false>((T *)first, items, 0,
                                                   [factor](SumOf<T> before, SumOf<T> x) { return factor * before + x; });
    } else {
        T sum = first[0];
#pragma unroll UNROLL
        for (unsigned k = 1; k < items; k++) sum = factor * sum + first[RIGHT ? -(int)k : (int)k];
        return sum;
    }
}
template <typename T, bool RIGHT, unsigned UNROLL>
__device__ void tile_thread_write(T *first, unsigned items, SumOf<T> factor, SumOf<T> sum) {
    if constexpr (sizeof(T) == 2) {
        (void)tile_pairs<T, RIGHT, UNROLL, true>(first, items, sum,
                                                 [factor](SumOf<T> before, SumOf<T> x) { return factor * before + x; });
    } else {
#pragma unroll UNROLL
        for (unsigned k = 0; k < items; k++) {
            T *const element = first + (RIGHT ? -(int)k : (int)k);
            sum = factor * sum + *element;
            *element = sum;
        }
    }
}

/* The sum of lanes 0 .. lane, where a lane stands for `items` elements: what tile_scan() does, without a table of powers. */
static __device__ inline double tile_lanes_sum(double sum, double factor, unsigned items) {
    for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
        const double other = shuffle_value<true>(sum, 1u << s), power = tile_power(factor, items << s);
        if (threadIdx.x % WARP >= 1u << s) sum = power * other + sum;
    }
    return sum;
}

struct TileBefore {
    double sum;    /* of the tile's elements before the thread's */
    double weight; /* what a carry into the tile is worth there */
    double total;  /* the sum of the tile */
    __device__ double with(double carry) const { return weight * carry + sum; }
};

/* totals: shared memory for a number of each warp. All threads; `own`: the sum of the thread's elements. FORWARD: the elements of
 * thread t + 1 follow those of thread t in the order of the sums; else they precede them. */
template <bool FORWARD = true> static __device__ TileBefore tile_scan(double own, const TilePowers &powers, double *totals) {
    const unsigned warps = blockDim.x / WARP, lane = threadIdx.x % WARP, at = FORWARD ? lane : WARP - 1 - lane;
    const unsigned warp = FORWARD ? threadIdx.x / WARP : warps - 1 - threadIdx.x / WARP;
    double sum = own;
#pragma unroll
    for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
        const double other = shuffle_value<FORWARD>(sum, 1u << s);
        if (at >= 1u << s) sum = powers.lanes[1u << s] * other + sum;
    }
    if (at == WARP - 1) totals[warp] = sum;
    double before = shuffle_value<FORWARD>(sum, 1);
    if (at == 0) before = 0;
    __syncthreads();
    double chain = lane < warps ? totals[lane] : 0; /* every warp scans the totals of all */
#pragma unroll
    for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
        const double other = shuffle_value<true>(chain, 1u << s);
        if (lane >= 1u << s) chain = powers.warps[1u << s] * other + chain;
    }
    const double outer = __shfl_sync((unsigned)ALL_LANES, chain, warp == 0 ? 0 : warp - 1);
    TileBefore result;
    result.total = __shfl_sync((unsigned)ALL_LANES, chain, warps - 1);
    result.sum = warp == 0 ? before : powers.lanes[at] * outer + before;
    result.weight = affine_product(powers.lanes[at], powers.warps[warp]);
    return result;
}

/* Where a tile of a row lies. Tiles begin at multiples of 16 bytes, so the first and the last of a row may be less full. `index`
 * counts in the order of the sums. */
template <typename T, bool RIGHT> __device__ BulkSpan tile_span(size_t row, size_t n, size_t index, size_t tiles, unsigned length) {
    constexpr long long EACH = 16 / sizeof(T);
    const long long begin = (long long)(row * n), end = begin + (long long)n;
    BulkSpan span;
    span.low = begin / EACH * EACH + (long long)((RIGHT ? tiles - 1 - index : index) * length);
    span.end = span.low + length < end ? span.low + length : end;
    span.begin = span.low > begin ? span.low : begin;
    if (span.begin > span.end) span.begin = span.low = span.end = end / EACH * EACH;
    return span;
}

/* Tiles that a row of n takes wherever it begins. size: of an element. */
static inline size_t tile_count(size_t batch, size_t n, size_t length, size_t size) {
    const size_t each = 16 / size;
    return divide_up(batch > 1 && n % each != 0 ? n + each - 1 : n, length);
}

/* By a warp: the total of a tile that has not come, from its elements, by the additions of the tile's own block. ITEMS: of a
 * thread. */
template <typename T, bool RIGHT, unsigned ITEMS>
static __device__ __noinline__ double tile_total_again(const DiscountView<T> &view, unsigned row, unsigned tile, unsigned tiles,
                                                       unsigned length) {
    const BulkSpan span = tile_span<T, RIGHT>(row, view.n, tile, tiles, length);
    const SumOf<T> factor = affine_factor(view.factor(row, 0));
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    double own = 0; /* lane w gets the total of warp w */
    for (unsigned warp = 0; warp < warps; warp++) {
        const unsigned first = (warp * WARP + lane) * ITEMS;
        SumOf<T> thread_sum = 0;
#pragma unroll 1
        for (unsigned k = 0; k < ITEMS; k++) {
            const long long i = span.low + (RIGHT ? length - 1 - first - k : first + k);
            const SumOf<T> x = i >= span.begin && i < span.end ? wide(view.x[i]) : 0;
            thread_sum = k == 0 ? x : factor * thread_sum + x;
        }
        const double sum = tile_lanes_sum((double)thread_sum, (double)factor, ITEMS);
        const double total = __shfl_sync((unsigned)ALL_LANES, sum, WARP - 1);
        if (lane == warp) own = total;
    }
    return __shfl_sync((unsigned)ALL_LANES, tile_lanes_sum(own, (double)factor, ITEMS * WARP), warps - 1);
}
