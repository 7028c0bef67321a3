/* _padded.cuh - staged inputs in rows of `tile` elements whose stride is odd: tile, or tile + 1 if that is even. The lanes of a
 * warp, one row apart, then read from different banks. Laid flat, a tile of 48 doubles is 384 bytes, a multiple of the 128 bytes of
 * all banks: all lanes of a half-warp read from the same one. */
#pragma once

#include "_shared.cuh"

/* Elements of padding behind each row. */
__host__ __device__ inline unsigned padded_gap(unsigned tile) {
    return 1 - tile % 2;
}
/* Elements of memory that the staged inputs 0 .. count - 1 take. */
static inline size_t padded_elements(size_t count, unsigned tile) {
    return count + count / tile * padded_gap(tile);
}
/* Where staged input `index` lies. */
__device__ inline unsigned padded_place(unsigned index, unsigned tile) {
    return index + index / tile * padded_gap(tile);
}

/* A walk over staged inputs: next() reads one and goes forward, previous() goes back and reads. It counts columns: no division. */
template <typename T> struct PaddedWalk {
    const T *at;
    unsigned column, tile, gap;
    __device__ T next() {
        const T value = *at++;
        if (++column == tile) {
            column = 0;
            at += gap;
        }
        return value;
    }
    __device__ T previous() {
        if (column == 0) {
            column = tile;
            at -= gap;
        }
        column--;
        return *--at;
    }
};

template <typename T> __device__ PaddedWalk<T> padded_walk(const T *staged, unsigned index, unsigned tile) {
    return {staged + padded_place(index, tile), index % tile, tile, padded_gap(tile)};
}

/* A block copies the inputs of its windows into padded rows: staged input j is x[first + j - (window - 1)], j < outputs + window -
 * 1, where first is the block's first output. What lies outside the array is neither read nor set: no complete window reaches it.
 */
template <typename T>
__device__ void padded_stage(const RollingView<T> &view, size_t first, unsigned outputs, unsigned tile, T *staged) {
    const size_t before = view.window - 1;
    const unsigned count = outputs + (unsigned)before;
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const size_t shifted = first + j;
        if (shifted >= before && shifted - before < view.n) staged[padded_place(j, tile)] = view.x[shifted - before];
    }
    __syncthreads();
}
