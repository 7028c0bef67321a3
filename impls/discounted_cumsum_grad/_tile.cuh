/* _tile.cuh - the products of a tile of one row in shared memory, where all elements of the row have one factor (tile.cuh): x as it
 * came, dx in place of dy. */
#pragma once

#include "common/discounted_cumsum/tile.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

/* Which of a thread's elements have a product, in the order of the sums: from <= k <= to. */
struct GradientTilePart {
    int from, to;
};

/* Those of the row, without the first in the order of the sums: nothing is carried into it, not even 0, should its dx be infinite.
 * at: where the thread's first element is in the tile. Once a thread, for it takes 64 bits. */
template <typename T, bool RIGHT>
__device__ GradientTilePart gradient_tile_part(size_t row, size_t n, const BulkSpan &span, long long at) {
    const long long row_begin = (long long)(row * n), row_last = row_begin + (long long)n - 1;
    const long long begin = RIGHT || span.begin > row_begin ? span.begin : row_begin + 1;
    const long long end = !RIGHT || span.end <= row_last ? span.end : row_last;
    const long long flat = span.low + at;
    return {(int)(RIGHT ? flat - (end - 1) : begin - flat), (int)(RIGHT ? flat - begin : end - 1 - flat)};
}

/* The sum of the thread's products. carried: the sum before its first element. */
template <typename T, bool RIGHT, unsigned UNROLL>
__device__ double gradient_tile_walk(GradientTilePart part, const T *x, const T *dx, unsigned items, T factor, T carried) {
    double gradient = 0;
#pragma unroll UNROLL
    for (unsigned k = 0; k < items; k++) {
        const int at = RIGHT ? -(int)k : (int)k;
        if ((int)k >= part.from && (int)k <= part.to) gradient += (double)dx[at] * (double)carried;
        carried = factor * carried + x[at];
    }
    return gradient;
}

/* ---- From memory. */
struct GradientWalkShared {
    TilePowers powers; /* of elements: tile_powers(factor, 1, ...), and a barrier */
    double totals[2][WARP];
};

/* By all threads of a block, with a barrier before the next call: the calling thread's part of the products of a tile. carried:
 * into the tile. back: from dy into dx, which is there. */
template <typename T, bool RIGHT>
__device__ double gradient_tile_again(const DiscountView<T> &back, const T *x, size_t row, const BulkSpan &span, unsigned length,
                                      double carried, GradientWalkShared *shared) {
    const long long first = (long long)(row * back.n + (RIGHT ? back.n - 1 : 0)); /* nothing is carried into it */
    const double decay = shared->powers.warps[blockDim.x / WARP];
    double gradient = 0;
    unsigned turn = 0;
    for (unsigned done = 0; done < length; done += blockDim.x, turn ^= 1) {
        const unsigned k = done + threadIdx.x;
        const long long i = span.low + (RIGHT ? (long long)length - 1 - k : (long long)k);
        const bool inside = k < length && i >= span.begin && i < span.end;
        const TileBefore before = tile_scan(inside ? (double)wide(x[i]) : 0, shared->powers, shared->totals[turn]);
        if (inside && i != first) gradient += (double)wide(back.y[i]) * (double)(SumOf<T>)before.with(carried);
        carried = decay * carried + before.total;
    }
    return gradient;
}
