/* offsets.cuh - from the sizes of rows to the offsets of a column: an exclusive scan in 64 bits whose total the host learns before
 * anything is written, because it must allocate that much and refuse what the offsets' type cannot hold.
 *
 * Rows go in tiles of a block. A first kernel adds up each tile, a second scans the tiles' sums (one block), a third scans inside
 * the tiles. Sizes come from a function object and need not lie in memory:
 *
 *     struct Sizes { __device__ size_t operator()(size_t row) const; };
 *
 * It is called by whole warps, for 32 rows from a multiple of 32, also for rows past the last, which have 0 bytes: so that it may
 * vote. What it computes on the way it may write; the third kernel calls it again, unless it is one of the caller's own that knows
 * better. Function objects need names that no other file gives to one: launches of the emulator are linked across files. */
#ifndef RUNGS_STRINGS_OFFSETS_CUH
#define RUNGS_STRINGS_OFFSETS_CUH

#include "common/block_scan.cuh"
#include "common/steps.cuh"
#include "common/strings/column.cuh"

#include <limits>

enum { OFFSETS_THREADS = 256, OFFSETS_WARPS = 8, OFFSETS_TILES = 16384, OFFSETS_SCAN_THREADS = 1024, OFFSETS_NOTES = 3 };

/* A number of bytes, as an aggregate; it lies in shared memory too, so ByteCount() is what makes it 0. */
struct ByteCount {
    unsigned long long n;
    __device__ void merge(ByteCount other) { n += other.n; }
};
template <bool UP> static __device__ inline ByteCount shuffle(ByteCount a, unsigned distance) {
    a.n = shuffle_value<UP>(a.n, distance);
    return a;
}

/* What the host reads back: the bytes of all rows, and what else the function object noted. */
struct OffsetsResult {
    unsigned long long bytes, notes[OFFSETS_NOTES];
};

/* How the rows are cut, and the memory for it. */
struct OffsetsTiles {
    size_t rows, tiles, rounds; /* a tile has OFFSETS_THREADS * rounds rows */
    unsigned long long *sums;   /* before the scan a tile's bytes, then those before it */
    OffsetsResult *result;      /* behind the sums */
    bool noted;                 /* offsets_notes_clear() was called */
};

static inline Status offsets_tiles_create(const VariantArgs *args, size_t rows, OffsetsTiles *out) {
    *out = {rows, 0, 1, nullptr, nullptr, false};
    out->rounds = divide_up(rows, (size_t)OFFSETS_THREADS * OFFSETS_TILES);
    if (out->rounds == 0) out->rounds = 1;
    out->tiles = divide_up(rows, OFFSETS_THREADS * out->rounds);
    const size_t words = sizeof(OffsetsResult) / sizeof(unsigned long long);
    TRY(memory_allocate(args, out->tiles + words, &out->sums));
    out->result = (OffsetsResult *)(out->sums + out->tiles);
    return STATUS_OK;
}

static inline void offsets_tiles_release(const VariantArgs *args, OffsetsTiles *tiles) {
    memory_release(args, &tiles->sums);
}

/* For function objects that note something in result->notes: all zeros before the first kernel. */
static inline Status offsets_notes_clear(const VariantArgs *args, OffsetsTiles *tiles) {
    tiles->noted = true;
    TRY_CUDA(cudaMemsetAsync(tiles->result, 0, sizeof *tiles->result, (cudaStream_t)args->stream));
    return STATUS_OK;
}

/* The row of this thread in this round. */
static __device__ inline size_t offsets_row(const OffsetsTiles &tiles, size_t round) {
    return ((size_t)blockIdx.x * tiles.rounds + round) * OFFSETS_THREADS + threadIdx.x;
}

template <typename Sizes>
static __global__ void __launch_bounds__(OFFSETS_THREADS) offsets_sums_kernel(OffsetsTiles tiles, Sizes sizes) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    ByteCount own = {};
    for (size_t round = 0; round < tiles.rounds; round++) own.n += sizes(offsets_row(tiles, round));
    own = block_reduce(own, totals);
    if (threadIdx.x == 0) tiles.sums[blockIdx.x] = own.n;
}

/* One block; each thread has a stretch of sums. */
static __global__ void __launch_bounds__(OFFSETS_SCAN_THREADS) offsets_scan_kernel(OffsetsTiles tiles) {
    __shared__ ByteCount totals[WARP];
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
    if (threadIdx.x == 0) tiles.result->bytes = all.n;
}

/* Inside a kernel whose blocks are tiles: the bytes before this thread's row, for rounds in order. `base` begins with the tile's
 * sum; every thread takes part. */
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

template <typename O, typename Sizes>
static __global__ void __launch_bounds__(OFFSETS_THREADS) offsets_fill_kernel(OffsetsTiles tiles, Sizes sizes, O *offsets) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    unsigned long long base = tiles.tiles ? tiles.sums[blockIdx.x] : 0;
    for (size_t round = 0; round < tiles.rounds; round++) {
        const size_t row = offsets_row(tiles, round);
        const unsigned long long size = sizes(row), begin = offsets_before(size, totals, &base);
        offsets_store(tiles, row, begin, size, offsets);
    }
}

/* STATUS_INVALID if offsets of type O cannot count so many bytes. what: whose they are, as in "redacted.chars would have ...". */
template <typename O> static Status offsets_check(const char *what, unsigned long long bytes) {
    if (bytes <= (unsigned long long)std::numeric_limits<O>::max()) return STATUS_OK;
    return status_fail(STATUS_INVALID, "%s would have %llu bytes; int%d offsets hold %llu%s", what, bytes, (int)sizeof(O) * 8,
                       (unsigned long long)std::numeric_limits<O>::max(), sizeof(O) < 8 ? "; use dtype=i64" : "");
}

/* Grid of a kernel whose blocks are tiles: one block for no rows, which has the last offset to write. */
static inline LaunchShape offsets_shape(const VariantArgs *args, const OffsetsTiles &tiles) {
    return {dim3((unsigned)(tiles.tiles ? tiles.tiles : 1)), dim3(OFFSETS_THREADS), 0, args->stream};
}

/* The tiles' sums, scanned, and the result on the host, which waits for it. */
template <typename Sizes>
static Status offsets_sum(const VariantArgs *args, const OffsetsTiles &tiles, Sizes sizes, OffsetsResult *result) {
    if (tiles.tiles) TRY(launch(offsets_sums_kernel<Sizes>, offsets_shape(args, tiles), tiles, sizes));
    TRY(launch(offsets_scan_kernel, {dim3(1), dim3(OFFSETS_SCAN_THREADS), 0, args->stream}, tiles));
    const cudaStream_t stream = (cudaStream_t)args->stream;
    const size_t told = tiles.noted ? sizeof *result : sizeof result->bytes;
    *result = {};
    TRY_CUDA(cudaMemcpyAsync(result, tiles.result, told, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

template <typename O, typename Sizes>
static Status offsets_fill(const VariantArgs *args, const OffsetsTiles &tiles, const char *what, Sizes sizes,
                           StringsColumn<O> *column) {
    OffsetsResult result;
    TRY(offsets_sum(args, tiles, sizes, &result));
    TRY(offsets_check<O>(what, result.bytes));
    {
        const StepRange step("allocate");
        TRY(strings_allocate_chars(args, (size_t)result.bytes, column));
    }
    return launch(offsets_fill_kernel<O, Sizes>, offsets_shape(args, tiles), tiles, sizes, column->offsets);
}

/* All of it: `column` has rows and offsets; its offsets are filled and its bytes allocated. what: as of offsets_check(). */
template <typename O, typename Sizes>
static Status strings_offsets(const VariantArgs *args, const char *what, Sizes sizes, StringsColumn<O> *column) {
    OffsetsTiles tiles;
    {
        const StepRange step("allocate");
        TRY(offsets_tiles_create(args, column->rows, &tiles));
    }
    const Status status = offsets_fill(args, tiles, what, sizes, column);
    const StepRange step("release");
    offsets_tiles_release(args, &tiles);
    return status;
}

#endif
