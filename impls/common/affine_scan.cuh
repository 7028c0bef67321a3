/* affine_scan.cuh - scans of many independent lines by the rule of any associative map: block scan and carry, at most three
 * kernels.
 *
 * A line is cut into strips, a strip into tiles; a block walks the tiles of one strip and carries the composition along. With one
 * strip to a line that is all: each element is read and written once. With more, a first kernel composes each strip, a second scans
 * those compositions of a line, and the third is the walk with what the second says precedes the strip: every element is read
 * twice.
 *
 * To use it, write a Work, which is copied to every thread and may keep what it likes in itself (// lines are what each is for):
 *
 *     struct Work {
 *         typedef Affine<double> Map;          // identity when value-initialised; merge(later); shuffle(), shuffle_from() know it
 *         enum { ELEMENTS = 4, VECTORS = 4 };  // elements of a vector, which is what a thread reads at once; vectors of a thread
 *         struct Items { ... };                // the ELEMENTS elements of a vector, in registers
 *
 *         void begin(size_t line);
 *         // Elements position .. position + ELEMENTS - 1 of the line in the order of the scan, position a multiple of ELEMENTS;
 *         // those past its end as identities.
 *         Items load(size_t position) const;
 *         Map map(const Items &items) const;   // their composition
 *         // Composition of the lanes before this one, and of all lanes: scan_warp_by_shuffles is one.
 *         Map scan_warp(Map own, Map *total);
 *         // before: composition of all that precedes them.
 *         void store(const Items &items, size_t position, const Map &before);
 *         void end(size_t line, size_t strip); // after the last tile of an output pass, by all threads
 *     };
 *     const ScanShape shape = scan_shape<Work>(lines, length, {256, 0, 0});
 *     TRY(scan_launch(work, shape, scratch, stream));   // scratch: scan_scratch_bytes<Work>(shape)
 *
 * Lanes read vectors side by side, so loads and stores are coalesced whatever the length. */
#ifndef RUNGS_AFFINE_SCAN_CUH
#define RUNGS_AFFINE_SCAN_CUH

#include "common/affine.cuh"

/* Blocks that fill a large GPU several times over, and lines from which on a block each is enough: then nothing is read twice. */
constexpr unsigned SCAN_THREADS_MAX = 512, SCAN_CARRY_THREADS = 512;
constexpr size_t SCAN_BLOCKS_FULL = 264, SCAN_STRIPS_GOAL = 2112, SCAN_LINES_TO_WALK = 256;

struct ScanShape {
    size_t lines, strips, tiles, tiles_per_strip; /* tiles of a line */
    unsigned threads, vectors;
};

/* Composition of the lanes before this one; *total that of the warp. */
template <typename Map> __device__ Map scan_warp_by_shuffles(const Map &own, Map *total) {
    const Map inclusive = warp_scan<true>(own);
    *total = shuffle_from(inclusive, WARP - 1);
    const Map exclusive = shuffle<true>(inclusive, 1);
    return threadIdx.x % WARP == 0 ? Map() : exclusive;
}

template <class Work, unsigned VECTORS> struct ScanTile {
    typename Work::Items items[VECTORS];

    static __device__ size_t position(size_t tile, unsigned vector) {
        const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        return (tile * VECTORS * blockDim.x + (warp * VECTORS + vector) * WARP + lane) * Work::ELEMENTS;
    }
    __device__ void load(const Work &work, size_t tile) {
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) items[v] = work.load(position(tile, v));
    }
};

/* OUTPUT: the walk with its outputs; else the composition of each strip into strip_maps. `totals` is used by turns, so that one
 * barrier a tile is enough: who writes a half has passed the barrier after its last reading. */
template <class Work, unsigned VECTORS, bool OUTPUT>
static __global__ void __launch_bounds__(SCAN_THREADS_MAX)
    scan_strips_kernel(Work work, ScanShape shape, typename Work::Map *strip_maps) {
    typedef typename Work::Map Map;
    __shared__ Map totals[2][SCAN_THREADS_MAX / WARP];
    const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP, strips = (unsigned)shape.strips;
    /* Outputs go backwards over the strips: what the first kernel read last is still in the cache. */
    const unsigned block = OUTPUT ? gridDim.x - 1 - blockIdx.x : blockIdx.x, line = block / strips, strip = block % strips;
    const size_t begin = strip * shape.tiles_per_strip;
    const size_t end = shape.tiles - begin < shape.tiles_per_strip ? shape.tiles : begin + shape.tiles_per_strip;
    Map carry;
    if (OUTPUT && strips > 1) carry = strip_maps[block];
    work.begin(line);
    ScanTile<Work, VECTORS> now, next;
    now.load(work, begin);
    unsigned turn = 0;
    for (size_t tile = begin; tile < end; tile++, turn ^= 1) {
        Map before[VECTORS], chain;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) {
            Map total;
            const Map lanes = work.scan_warp(work.map(now.items[v]), &total);
            before[v] = chain;
            before[v].merge(lanes);
            chain.merge(total);
        }
        const bool more = tile + 1 < end;
        if (more) next.load(work, tile + 1);
        if (threadIdx.x % WARP == 0) totals[turn][warp] = chain;
        __syncthreads();
        Map outer = carry;
        for (unsigned w = 0; w < warps; w++) {
            if (w == warp) outer = carry;
            carry.merge(totals[turn][w]);
        }
        if (OUTPUT) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) {
                Map all = outer;
                all.merge(before[v]);
                work.store(now.items[v], now.position(tile, v), all);
            }
        }
        if (more) now = next;
    }
    if (!OUTPUT && threadIdx.x == 0) strip_maps[block] = carry;
    if (OUTPUT) work.end(line, strip);
}

/* In place: from the composition of each strip to that of all strips of its line before it. */
template <typename Map> static __global__ void __launch_bounds__(SCAN_CARRY_THREADS) scan_carries_kernel(Map *maps, size_t strips) {
    __shared__ Map totals[SCAN_CARRY_THREADS / WARP];
    maps += blockIdx.x * strips;
    Map carry;
    for (size_t done = 0; done < strips; done += blockDim.x) {
        const size_t i = done + threadIdx.x;
        const Map own = i < strips ? maps[i] : Map();
        Map all, before = carry;
        before.merge(block_scan_exclusive<true>(own, totals, &all));
        if (i < strips) maps[i] = before;
        carry.merge(all);
        __syncthreads();
    }
}

/* Elements of a tile. */
template <class Work> static inline size_t scan_tile_length(unsigned threads, unsigned vectors) {
    return (size_t)threads * vectors * Work::ELEMENTS;
}

/* What may be chosen; 0 leaves it to the shape. strips: of a line, 1 is one walk, more is three kernels (as far as there are
 * tiles). vectors: 1 for small tiles, more for large ones. */
struct ScanChoice {
    unsigned threads, vectors;
    size_t strips;
};

/* length: positions of the longest line. */
template <class Work> static inline ScanShape scan_shape(size_t lines, size_t length, const ScanChoice &choice) {
    const size_t small = scan_tile_length<Work>(choice.threads, 1), large = scan_tile_length<Work>(choice.threads, Work::VECTORS);
    /* Small tiles where one is enough, and where large ones are too few to fill the device. */
    const bool is_small =
        choice.vectors > 0 ? choice.vectors == 1 : length <= small || lines * divide_up(length, large) < SCAN_BLOCKS_FULL;
    ScanShape shape = {lines, 1, 1, 1, choice.threads, is_small ? 1u : (unsigned)Work::VECTORS};
    shape.tiles = divide_up(length, is_small ? small : large);
    size_t strips = choice.strips;
    if (strips == 0) strips = lines >= SCAN_LINES_TO_WALK || lines == 0 ? 1 : divide_up(SCAN_STRIPS_GOAL, lines);
    if (shape.tiles == 0) return shape;
    shape.tiles_per_strip = divide_up(shape.tiles, strips < shape.tiles ? strips : shape.tiles);
    shape.strips = divide_up(shape.tiles, shape.tiles_per_strip);
    return shape;
}

template <class Work> static inline size_t scan_scratch_bytes(const ScanShape &shape) {
    return shape.strips > 1 ? shape.lines * shape.strips * sizeof(typename Work::Map) : 0;
}

template <class Work, unsigned VECTORS>
static Status scan_launch_vectors(const Work &work, const ScanShape &shape, void *scratch, void *stream) {
    typedef typename Work::Map Map;
    Map *maps = (Map *)scratch;
    const LaunchShape strips = {dim3((unsigned)(shape.lines * shape.strips)), dim3(shape.threads), 0, stream};
    if (shape.strips > 1) {
        const unsigned wanted = (unsigned)divide_up(shape.strips, WARP) * WARP, most = SCAN_CARRY_THREADS;
        const LaunchShape lines = {dim3((unsigned)shape.lines), dim3(wanted < most ? wanted : most), 0, stream};
        TRY(launch(scan_strips_kernel<Work, VECTORS, false>, strips, work, shape, maps));
        TRY(launch(scan_carries_kernel<Map>, lines, maps, shape.strips));
    }
    return launch(scan_strips_kernel<Work, VECTORS, true>, strips, work, shape, maps);
}

/* Needs at least one line and one position, and no more blocks than a grid holds. */
template <class Work> static Status scan_launch(const Work &work, const ScanShape &shape, void *scratch, void *stream) {
    return shape.vectors == 1 ? scan_launch_vectors<Work, 1>(work, shape, scratch, stream)
                              : scan_launch_vectors<Work, Work::VECTORS>(work, shape, scratch, stream);
}

#endif
