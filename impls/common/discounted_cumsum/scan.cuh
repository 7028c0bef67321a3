/* scan.cuh - how lines are cut for a block scan, and how a thread loads its part of a tile, a warp scans its lanes and a block
 * joins its warps: for the block scans of discounted_cumsum and of its gradient.
 *
 * A line is cut into strips, a block each, and a strip into tiles. A warp has VECTORS runs of 32 vectors in a tile; a lane reads
 * one vector of 16 bytes of each run, so that loads are coalesced. */
#pragma once

#include "common/discounted_cumsum/lines.cuh"

/* VECTORS of a large tile; a small one has 1. UNIFORM: one factor to a line; GENERAL: x and factor of each element. */
enum { UNIFORM_VECTORS = 4, GENERAL_VECTORS = 2 };

/* Blocks: enough to fill a large GPU; strips to aim for with few lines; lines from which on each gets one block. */
constexpr unsigned SCAN_THREADS_MAX = 512, SCAN_CARRY_THREADS = 512;
constexpr size_t SCAN_BLOCKS_FULL = 264, SCAN_STRIPS_GOAL = 2112, SCAN_LINES_TO_WALK = 256;

struct ScanShape {
    size_t lines, strips, tiles, tiles_per_strip; /* strips and tiles of a line */
    unsigned threads, vectors;                    /* vectors: of a thread in a tile */
};

/* The part of a block. reversed: the blocks take the strips from the last to the first. */
struct ScanStrip {
    unsigned index, line; /* index: of all strips of all lines */
    size_t begin, end;    /* tiles */
};
static inline __device__ ScanStrip scan_strip(const ScanShape &shape, bool reversed) {
    const unsigned strips = (unsigned)shape.strips, index = reversed ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const unsigned line = index / strips, strip = index % strips;
    const size_t begin = strip * shape.tiles_per_strip;
    return {index, line, begin, shape.tiles - begin < shape.tiles_per_strip ? shape.tiles : begin + shape.tiles_per_strip};
}

/* Position of the thread's vector v of a tile. */
template <unsigned VECTORS, unsigned LENGTH> __device__ size_t scan_position(size_t tile, unsigned v) {
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    return (tile * VECTORS * blockDim.x + (warp * VECTORS + v) * WARP + lane) * LENGTH;
}

template <unsigned VECTORS, typename T, unsigned LENGTH, bool BACKWARD>
__device__ void load_tile(const DiscountLine<LENGTH, BACKWARD> &line, const T *x, bool packed, size_t tile,
                          T (&out)[VECTORS][LENGTH]) {
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) line.load(x, line.first(scan_position<VECTORS, LENGTH>(tile, v)), packed, (T)0, out[v]);
}
template <unsigned VECTORS, typename T, bool BACKWARD>
__device__ void load_tile(const DiscountReader<T, BACKWARD> &reader, size_t tile, DiscountItems<T> (&out)[VECTORS]) {
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) out[v] = reader.load(scan_position<VECTORS, VectorOf<T>::LENGTH>(tile, v));
}

template <unsigned VECTORS, typename T, unsigned LENGTH>
__device__ void move_tile(const T (&from)[VECTORS][LENGTH], T (&to)[VECTORS][LENGTH]) {
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++)
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) to[v][k] = from[v][k];
}
template <unsigned VECTORS, typename T>
__device__ void move_tile(const DiscountItems<T> (&from)[VECTORS], DiscountItems<T> (&to)[VECTORS]) {
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) to[v] = from[v];
}

/* One factor for all elements: powers of it between lanes, of which each holds `length` elements. They are the same for all tiles,
 * so lanes exchange sums alone. */
enum { WARP_STEPS = 5 };
struct WarpPowers {
    double steps[WARP_STEPS]; /* factor^(length 2^s) */
    double lanes;             /* factor^(length lane) */
};
static inline __device__ WarpPowers warp_powers(double factor, size_t length) {
    WarpPowers powers;
    double power = affine_power(factor, length);
    powers.lanes = 1;
#pragma unroll
    for (unsigned s = 0; s < WARP_STEPS; s++) {
        powers.steps[s] = power;
        if (threadIdx.x >> s & 1) powers.lanes = affine_product(powers.lanes, power);
        power = affine_product(power, power);
    }
    return powers;
}

/* The map of the lanes before this one, whose own vector sums to `sum`; *total is that of the warp. */
static inline __device__ Affine<double> warp_scan_sums(const WarpPowers &powers, double sum, Affine<double> *total) {
    const unsigned lane = threadIdx.x % WARP;
#pragma unroll
    for (unsigned s = 0; s < WARP_STEPS; s++) {
        const double other = shuffle_value<true>(sum, 1u << s);
        if (lane >= 1u << s) sum = powers.steps[s] * other + sum;
    }
    *total = {affine_product(powers.steps[WARP_STEPS - 1], powers.steps[WARP_STEPS - 1]),
              __shfl_sync((unsigned)ALL_LANES, sum, WARP - 1)};
    const double before = shuffle_value<true>(sum, 1);
    return {powers.lanes, lane == 0 ? 0 : before};
}
/* The same of any maps. */
template <typename Map> __device__ Map warp_scan_maps(const Map &own, Map *total) {
    const Map inclusive = warp_scan<true>(own);
    *total = shuffle_from(inclusive, WARP - 1);
    const Map exclusive = shuffle<true>(inclusive, 1);
    return threadIdx.x % WARP == 0 ? Map() : exclusive;
}

/* The map of all that precedes this warp: *carry, then the warps before it, each of which has the map `own`. *carry moves on to the
 * end of the tile. totals: shared memory for a map of each warp, which nothing else uses until after the next barrier. */
template <typename Map> __device__ Map block_carry(const Map &own, Map *totals, Map *carry) {
    const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    if (threadIdx.x % WARP == 0) totals[warp] = own;
    __syncthreads();
    Map before = *carry;
    for (unsigned w = 0; w < warps; w++) {
        if (w == warp) before = *carry;
        carry->merge(totals[w]);
    }
    return before;
}

/* A tile of one row with one factor. Registers: two tiles of VECTORS vectors, the next one loading while this one is scanned.
 * Shared memory: a map for each warp, twice, used in turn: a warp that writes one half has
 * passed the barrier after its last read, so one barrier a tile is enough. WRITE: the walk; else only the composition of each strip
 * into `maps`. CARRIES: of each element not its sum, but the sum carried into it, before its factor. */
template <typename T, bool RIGHT, unsigned VECTORS, bool WRITE, bool CARRIES>
static __global__ void __launch_bounds__(SCAN_THREADS_MAX)
    uniform_kernel(DiscountView<T> view, DiscountLines lines, bool packed, ScanShape shape, Affine<double> *maps) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    __shared__ Affine<double> totals[2][SCAN_THREADS_MAX / WARP];
    /* The walk goes backwards over the strips: what the first launch read last is still in the cache. */
    const ScanStrip strip = scan_strip(shape, WRITE);
    Affine<double> carry;
    if (WRITE && shape.strips > 1) carry = maps[strip.index];
    const DiscountLine<LENGTH, RIGHT> line = lines.line<LENGTH, RIGHT>(strip.line);
    const T factor = affine_factor(view.factor(strip.line, 0));
    const WarpPowers powers = warp_powers((double)factor, LENGTH);
    T now[VECTORS][LENGTH], next[VECTORS][LENGTH];
    load_tile(line, view.x, packed, strip.begin, now);
    unsigned turn = 0;
    for (size_t tile = strip.begin; tile < strip.end; tile++, turn ^= 1) {
        Affine<double> before[VECTORS], chain; /* what precedes the lane's vector in its warp; all vectors of the warp */
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) {
            T sum = now[v][0];
#pragma unroll
            for (unsigned k = 1; k < LENGTH; k++) sum = factor * sum + now[v][k];
            Affine<double> total;
            const Affine<double> lanes = warp_scan_sums(powers, (double)sum, &total);
            before[v] = chain;
            before[v].merge(lanes);
            chain.merge(total);
        }
        const bool more = tile + 1 < strip.end;
        if (more) load_tile(line, view.x, packed, tile + 1, next);
        const Affine<double> outer = block_carry(chain, totals[turn], &carry);
        if (WRITE) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) {
                Affine<double> all = outer;
                all.merge(before[v]);
                T sum = (T)all.b, out[LENGTH];
#pragma unroll
                for (unsigned k = 0; k < LENGTH; k++) {
                    const T carried = sum;
                    sum = factor * sum + now[v][k];
                    out[k] = CARRIES ? carried : sum;
                }
                line.store(view.y, line.first(scan_position<VECTORS, LENGTH>(tile, v)), packed, out);
            }
        }
        if (more) move_tile(next, now);
    }
    if (!WRITE && threadIdx.x == 0) maps[strip.index] = carry;
}

/* The same with a factor for each element: several rows to a line, resets, discounts of elements. Lanes exchange whole maps. */
template <typename T, bool RIGHT, unsigned VECTORS, bool WRITE, bool CARRIES>
static __global__ void __launch_bounds__(SCAN_THREADS_MAX)
    general_kernel(DiscountReader<T, RIGHT> reader, ScanShape shape, Affine<double> *maps) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    __shared__ Affine<double> totals[2][SCAN_THREADS_MAX / WARP];
    const ScanStrip strip = scan_strip(shape, WRITE);
    Affine<double> carry;
    if (WRITE && shape.strips > 1) carry = maps[strip.index];
    reader.begin(strip.line);
    DiscountItems<T> now[VECTORS], next[VECTORS];
    load_tile(reader, strip.begin, now);
    unsigned turn = 0;
    for (size_t tile = strip.begin; tile < strip.end; tile++, turn ^= 1) {
        Affine<double> before[VECTORS], chain;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) {
            Affine<T> own;
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) own.merge({now[v].factor[k], now[v].x[k]});
            Affine<double> total;
            const Affine<double> lanes = warp_scan_maps(Affine<double>{(double)own.a, (double)own.b}, &total);
            before[v] = chain;
            before[v].merge(lanes);
            chain.merge(total);
        }
        const bool more = tile + 1 < strip.end;
        if (more) load_tile(reader, tile + 1, next);
        const Affine<double> outer = block_carry(chain, totals[turn], &carry);
        if (WRITE) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) {
                Affine<double> all = outer;
                all.merge(before[v]);
                T sum = (T)all.b, out[LENGTH];
#pragma unroll
                for (unsigned k = 0; k < LENGTH; k++) {
                    const T carried = sum;
                    sum = discount_step(now[v].factor[k], sum, now[v].x[k]);
                    out[k] = CARRIES ? carried : sum;
                }
                reader.line.store(reader.view.y, reader.line.first(scan_position<VECTORS, LENGTH>(tile, v)), reader.packed, out);
            }
        }
        if (more) move_tile(next, now);
    }
    if (!WRITE && threadIdx.x == 0) maps[strip.index] = carry;
}

/* In place, a block for each line: from the composition of each strip to that of all strips of its line before it. */
template <typename Map> static __global__ void __launch_bounds__(SCAN_CARRY_THREADS) carries_kernel(Map *maps, size_t strips) {
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

/* The tunables of both cuda_block_scan; 0 leaves a choice to the shape. */
struct ScanChoice {
    unsigned threads, vectors; /* vectors: 1: small tiles, more: large ones */
    size_t strips;             /* of a line: 1 is one launch, more take three */
};
static inline ScanChoice scan_choice(const VariantArgs *args) {
    return {(unsigned)params_int(args->tunables, "threads"), (unsigned)params_choice(args->tunables, "tiles"),
            (size_t)params_int(args->tunables, "strips")};
}
static inline bool scan_choice_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const unsigned threads = scan_choice(args).threads;
    return threads % WARP == 0 || variant_refuse(reason, "threads=%u is no multiple of 32", threads);
}

/* Rows of at most a warp's run of vectors are put together, several to a line, as many as a tile holds: a large tile if there are
 * many rows. length: elements of a vector. */
static inline DiscountLines scan_lines(const VariantArgs *args, unsigned threads, unsigned length) {
    DiscountLines lines = {discount_batch(args), discount_n(args), 1, 0, discount_is_right(args)};
    if (lines.n == 0 || lines.n > (size_t)length * WARP) return lines;
    const size_t small = (size_t)threads * length, large = small * GENERAL_VECTORS;
    const size_t rows = (lines.batch * lines.n / large >= SCAN_BLOCKS_FULL ? large : small) / lines.n;
    if (rows > 1) lines.rows = rows - (rows * lines.n % length != 0); /* one row less where lines begin anywhere */
    return lines;
}

/* vectors: of a large tile. */
static inline ScanShape scan_shape(const DiscountLines &lines, ScanChoice choice, unsigned length, unsigned vectors) {
    const bool aligned = lines.rows * lines.n % length == 0 && lines.segment % length == 0;
    const size_t positions = line_positions(lines.longest(), length, aligned), count = lines.count();
    /* Many short lines: no more threads than a line has vectors for. */
    const size_t enough = divide_up(divide_up(positions, (size_t)length * vectors), WARP) * WARP;
    if (count >= SCAN_BLOCKS_FULL && enough < choice.threads) choice.threads = enough > WARP ? (unsigned)enough : (unsigned)WARP;
    /* Small tiles where one is enough, and where large ones are too few to fill the device. */
    const size_t small = (size_t)choice.threads * length, large = small * vectors;
    const bool is_small =
        choice.vectors > 0 ? choice.vectors == 1 : positions <= small || count * divide_up(positions, large) < SCAN_BLOCKS_FULL;
    ScanShape shape = {count, 1, 1, 1, choice.threads, is_small ? 1u : vectors};
    shape.tiles = divide_up(positions, is_small ? small : large);
    size_t strips = choice.strips;
    if (strips == 0) strips = count >= SCAN_LINES_TO_WALK || count == 0 ? 1 : divide_up(SCAN_STRIPS_GOAL, count);
    if (shape.tiles == 0) return shape;
    shape.tiles_per_strip = divide_up(shape.tiles, strips < shape.tiles ? strips : shape.tiles);
    shape.strips = divide_up(shape.tiles, shape.tiles_per_strip);
    return shape;
}

/* A map for each strip, if there is more than one to a line. */
static inline size_t scan_scratch_bytes(const ScanShape &shape) {
    return shape.strips > 1 ? shape.lines * shape.strips * sizeof(Affine<double>) : 0;
}
static inline LaunchShape scan_strips_launch(const ScanShape &shape, void *stream) {
    return {dim3((unsigned)(shape.lines * shape.strips)), dim3(shape.threads), 0, stream};
}
/* A block for each line, a thread for each strip as far as they go. */
static inline LaunchShape scan_carries_launch(const ScanShape &shape, void *stream) {
    const unsigned wanted = (unsigned)divide_up(shape.strips, WARP) * WARP, most = SCAN_CARRY_THREADS;
    return {dim3((unsigned)shape.lines), dim3(wanted < most ? wanted : most), 0, stream};
}

/* A scan of rows of one strip is one launch, call.operator()<true>(), which writes. Of more strips, call.operator()<false>() leaves
 * the maps of strips, carries_kernel makes of them what enters each strip, and the writing launch begins with that. */
template <typename Map, typename Call>
static Status scan_strips(const VariantArgs *args, const ScanShape &shape, Map *maps, Call call) {
    if (shape.strips > 1) {
        TRY(call.template operator()<false>());
        TRY(launch(carries_kernel<Map>, scan_carries_launch(shape, args->stream), maps, shape.strips));
    }
    return call.template operator()<true>();
}
