/* _offsets.cuh - from the sizes of rows to the offsets of a column: an exclusive scan in 64 bits in three kernels of the variant's
 * own. The host learns the total before anything is written: it must allocate that much, and refuse what the offsets' type cannot
 * hold.
 *
 *   1. tiles.tiles blocks of OFFSETS_THREADS: block b adds up the sizes of tile b into sums[b] (offsets_row, offsets_sum);
 *   2. one block of OFFSETS_SCAN_THREADS: the sums become the bytes before each tile (offsets_scan); the host reads the total;
 *   3. tiles.tiles blocks of OFFSETS_THREADS: each row's offset inside its tile (offsets_before, offsets_store).
 *
 * A tile has OFFSETS_THREADS * rounds rows, in rounds of one row a thread: one round up to 4,194,304 rows, at most 16,384 tiles. */
#pragma once

#include "_column.cuh"
#include "common/block_scan.cuh"

enum { OFFSETS_THREADS = 256, OFFSETS_WARPS = OFFSETS_THREADS / 32, OFFSETS_TILES = 16384, OFFSETS_SCAN_THREADS = 1024 };

/* A number of bytes, as an aggregate; it lies in shared memory too, so it has no initial value of its own. */
struct ByteCount {
    unsigned long long n;
    __device__ void merge(ByteCount other) { n += other.n; }
};
template <bool UP> static __device__ inline ByteCount shuffle(ByteCount a, unsigned distance) {
    a.n = shuffle_value<UP>(a.n, distance);
    return a;
}

struct OffsetsTiles {
    size_t rows, tiles, rounds;
    unsigned long long *sums;  /* before the scan a tile's bytes, then those before it */
    unsigned long long *total; /* behind the sums: the bytes of all rows */
};

static inline Status offsets_tiles_create(const VariantArgs *args, size_t rows, OffsetsTiles *out) {
    *out = {rows, 0, 1, nullptr, nullptr};
    out->rounds = divide_up(rows, (size_t)OFFSETS_THREADS * OFFSETS_TILES);
    if (out->rounds == 0) out->rounds = 1;
    out->tiles = divide_up(rows, OFFSETS_THREADS * out->rounds);
    TRY(memory_allocate(args, out->tiles + 1, &out->sums));
    out->total = out->sums + out->tiles;
    return STATUS_OK;
}

static inline void offsets_tiles_release(const VariantArgs *args, OffsetsTiles *tiles) {
    memory_release(args, &tiles->sums);
}

/* Grid of a kernel whose blocks are tiles: one block for no rows, which has the last offset to write. */
static inline LaunchShape offsets_shape(const VariantArgs *args, const OffsetsTiles &tiles) {
    return {dim3((unsigned)(tiles.tiles ? tiles.tiles : 1)), dim3(OFFSETS_THREADS), 0, args->stream};
}

/* After kernel 2: the total on the host, which waits for it. */
static inline Status offsets_total(const VariantArgs *args, const OffsetsTiles &tiles, unsigned long long *bytes) {
    const cudaStream_t stream = (cudaStream_t)args->stream;
    TRY_CUDA(cudaMemcpyAsync(bytes, tiles.total, sizeof *bytes, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

/* The row of this thread in this round; may be past the last. */
static __device__ inline size_t offsets_row(const OffsetsTiles &tiles, size_t round) {
    return ((size_t)blockIdx.x * tiles.rounds + round) * OFFSETS_THREADS + threadIdx.x;
}

/* Kernel 1: the bytes of all threads' rows become the tile's sum. totals: shared. */
static __device__ inline void offsets_sum(const OffsetsTiles &tiles, ByteCount own, ByteCount *totals) {
    own = block_reduce(own, totals);
    if (threadIdx.x == 0) tiles.sums[blockIdx.x] = own.n;
}

/* Kernel 2: each thread has a stretch of ceil(tiles / 1024) sums, 16 at most. totals: shared, one a warp. */
static __device__ inline void offsets_scan(const OffsetsTiles &tiles, ByteCount *totals) {
    const size_t stretch = (tiles.tiles + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * stretch;
    const size_t end = begin + stretch < tiles.tiles ? begin + stretch : tiles.tiles;
    ByteCount own = {}, all;
    for (size_t t = begin; t < end; t++) own.n += tiles.sums[t];
    ByteCount before = block_scan_exclusive<true>(own, totals, &all);
    for (size_t t = begin; t < end; t++) {
        const unsigned long long bytes = tiles.sums[t];
        tiles.sums[t] = before.n;
        before.n += bytes;
    }
    if (threadIdx.x == 0) *tiles.total = all.n;
}

/* Kernel 3: the bytes before this thread's row, for rounds in order. `base` begins with the tile's sum; every thread takes part. */
static __device__ inline unsigned long long offsets_before(unsigned long long size, ByteCount *totals, unsigned long long *base) {
    ByteCount all;
    const ByteCount before = block_scan_exclusive<true>(ByteCount{size}, totals, &all);
    const unsigned long long begin = *base + before.n;
    *base += all.n;
    __syncthreads(); /* totals may be used again */
    return begin;
}

/* Where a row begins, and behind the last row where it ends. */
template <typename O>
static __device__ void offsets_store(const OffsetsTiles &tiles, size_t row, unsigned long long begin, unsigned long long size,
                                     O *offsets) {
    if (row < tiles.rows) offsets[row] = (O)begin;
    if (row + 1 == tiles.rows || (tiles.rows == 0 && row == 0)) offsets[tiles.rows] = (O)(begin + size);
}
