/* rows.cuh - where a block keeps its staged inputs: flat, or in rows whose odd stride spreads a warp over all banks.
 *
 * Threads of a tile kernel walk consecutive elements, each beginning one tile after its neighbour. With a flat layout and a tile
 * of 48 doubles all lanes then meet in the same bank; rows of tile elements, one element longer if tile is even, avoid it. */
#ifndef RUNGS_ROLLING_ROWS_CUH
#define RUNGS_ROLLING_ROWS_CUH

#include "kernel.h"

/* A walk over consecutive elements in memory. */
template <typename T> struct FlatCursor {
    const T *at;
    __device__ T next() { return *at++; }
    __device__ T previous() { return *--at; }
};

template <typename T> struct FlatRows {
    T *base;
    __device__ FlatRows(T *memory, unsigned) : base(memory) {}
    __device__ T &operator[](unsigned index) { return base[index]; }
    __device__ FlatCursor<T> from(unsigned index) { return {base + index}; }
    __host__ __device__ static size_t elements(size_t count, size_t) { return count; }
};

template <typename T> struct PaddedCursor {
    const T *at;
    unsigned column, tile, padding;
    __device__ T next() {
        const T value = *at++;
        if (++column == tile) {
            column = 0;
            at += padding;
        }
        return value;
    }
    __device__ T previous() {
        if (column == 0) {
            column = tile;
            at -= padding;
        }
        column--;
        return *--at;
    }
};

template <typename T> struct PaddedRows {
    T *base;
    unsigned tile, padding;
    __device__ PaddedRows(T *memory, unsigned row) : base(memory), tile(row), padding(1 - row % 2) {}
    __device__ T &operator[](unsigned index) { return base[index + index / tile * padding]; }
    __device__ PaddedCursor<T> from(unsigned index) { return {&(*this)[index], index % tile, tile, padding}; }
    __host__ __device__ static size_t elements(size_t count, size_t row) { return count + count / row * (1 - row % 2); }
};

#endif
