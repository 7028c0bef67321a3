/* _tile_rows.cuh - a thread's rows of a tile, 4 or 8 one behind the other: their offsets and validity in registers, in and out. */
#pragma once

#include "_words.cuh"

/* A thread's offsets in loads and stores of 16 bytes. */
template <typename O> struct alignas(16) OffsetPack {
    static constexpr unsigned SIZE = 16 / sizeof(O);
    O v[SIZE];
};

/* Offsets of this thread's ROWS rows, modulo 2^32; past the last row the last offset. */
template <unsigned ROWS, typename O>
static __device__ inline void load_offsets(const O *offsets, size_t rows, size_t row, unsigned *out) {
    constexpr unsigned SIZE = OffsetPack<O>::SIZE;
    if (row + ROWS <= rows) {
#pragma unroll
        for (unsigned j = 0; j < ROWS; j += SIZE) {
            const OffsetPack<O> pack = *(const OffsetPack<O> *)(offsets + row + j);
#pragma unroll
            for (unsigned k = 0; k < SIZE; k++) out[j + k] = (unsigned)pack.v[k];
        }
    } else {
#pragma unroll
        for (unsigned j = 0; j < ROWS; j++) out[j] = (unsigned)offsets[row + j < rows ? row + j : rows];
    }
    if (threadIdx.x % 32 == 31) out[ROWS] = (unsigned)offsets[row + ROWS < rows ? row + ROWS : rows];
}
/* And of the row behind them: the next lane's first. All lanes take part. */
template <unsigned ROWS> static __device__ inline void share_offsets(unsigned *offsets) {
    const unsigned next = __shfl_down_sync(0xffffffffu, offsets[0], 1);
    if (threadIdx.x % 32 < 31) offsets[ROWS] = next;
}

/* Stores them, from the first one and sizes. */
template <unsigned ROWS, typename O>
static __device__ inline void store_offsets(O *offsets, size_t rows, size_t row, size_t begin, unsigned sizes) {
    constexpr unsigned SIZE = OffsetPack<O>::SIZE, PACKS = ROWS / SIZE;
    OffsetPack<O> packs[PACKS];
    unsigned behind = 0; /* bytes of the rows before this one */
#pragma unroll
    for (unsigned j = 0; j < ROWS; j++) {
        packs[j / SIZE].v[j % SIZE] = (O)(begin + behind);
        behind += row_size(sizes, j);
    }
    if (row + ROWS <= rows) {
#pragma unroll
        for (unsigned i = 0; i < PACKS; i++) ((OffsetPack<O> *)(offsets + row))[i] = packs[i];
    } else {
#pragma unroll
        for (unsigned j = 0; j < ROWS; j++)
            if (row + j < rows) offsets[row + j] = packs[j / SIZE].v[j % SIZE];
    }
}

/* Validity of this thread's rows in both columns as bits; 0 past the last. ROWS divides 8. */
template <unsigned ROWS>
static __device__ inline unsigned load_validity(const unsigned char *names, const unsigned char *visibilities, size_t rows,
                                                size_t row) {
    if (row >= rows) return 0;
    unsigned bits = rows - row < ROWS ? (1u << (rows - row)) - 1 : (1u << ROWS) - 1;
    if (names) bits &= (unsigned)names[row / 8] >> row % 8;
    if (visibilities) bits &= (unsigned)visibilities[row / 8] >> row % 8;
    return bits;
}
/* All lanes take part. */
template <unsigned ROWS>
static __device__ inline void store_validity(unsigned char *validity, size_t rows, size_t row, unsigned bits) {
    for (unsigned have = ROWS; have < 8; have *= 2) bits |= __shfl_down_sync(0xffffffffu, bits, have / ROWS) << have;
    if (row % 8 == 0 && row < rows) validity[row / 8] = (unsigned char)bits;
}
