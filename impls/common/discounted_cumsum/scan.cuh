/* scan.cuh - discounted sums as Works of affine_scan.cuh.
 *
 * DiscountUniform: one factor a row. Lanes hold whole vectors, so what a lane passes on is weighted by powers of the factor, which
 * are the same for all rows of work: only sums are shuffled. DiscountGeneral: any factors, cuts, several rows to a line. Within a
 * thread sums are of the dtype; between threads they are doubles. */
#ifndef RUNGS_DISCOUNT_SCAN_CUH
#define RUNGS_DISCOUNT_SCAN_CUH

#include "common/affine_scan.cuh"
#include "common/discounted_cumsum/line.cuh"

enum { WARP_STEPS = 5 };

template <typename T, bool BACKWARD> struct DiscountUniform {
    typedef Affine<double> Map;
    enum { ELEMENTS = VectorOf<T>::LENGTH, VECTORS = 4 };
    struct Items {
        T x[ELEMENTS];
    };
    DiscountView<T> view;
    DiscountLines lines; /* of one row each */
    bool packed;

    DiscountLine<ELEMENTS, BACKWARD> line;
    T factor;
    double steps[WARP_STEPS]; /* factor^(ELEMENTS 2^s) */
    double lanes;             /* factor^(ELEMENTS lane) */

    __device__ void begin(size_t index) {
        line = lines.line<ELEMENTS, BACKWARD>(index);
        factor = affine_factor(view.factor(index, 0));
        double power = affine_power((double)factor, (size_t)ELEMENTS);
        lanes = 1;
#pragma unroll
        for (unsigned s = 0; s < WARP_STEPS; s++) {
            steps[s] = power;
            if (threadIdx.x >> s & 1) lanes = affine_product(lanes, power);
            power = affine_product(power, power);
        }
    }
    __device__ Items load(size_t position) const {
        Items items;
        line.load(view.x, line.first(position), packed, (T)0, items.x);
        return items;
    }
    __device__ Map map(const Items &items) const {
        T sum = items.x[0];
#pragma unroll
        for (unsigned k = 1; k < ELEMENTS; k++) sum = factor * sum + items.x[k];
        return {steps[0], (double)sum};
    }
    __device__ Map scan_warp(const Map &own, Map *total) const {
        const unsigned lane = threadIdx.x % WARP;
        double sum = own.b;
#pragma unroll
        for (unsigned s = 0; s < WARP_STEPS; s++) {
            const double other = shuffle_value<true>(sum, 1u << s);
            if (lane >= 1u << s) sum = steps[s] * other + sum;
        }
        *total = {affine_product(steps[WARP_STEPS - 1], steps[WARP_STEPS - 1]), __shfl_sync((unsigned)ALL_LANES, sum, WARP - 1)};
        const double before = shuffle_value<true>(sum, 1);
        return {lanes, lane == 0 ? 0 : before};
    }
    __device__ void store(const Items &items, size_t position, const Map &before) {
        T sum = (T)before.b, out[ELEMENTS];
#pragma unroll
        for (unsigned k = 0; k < ELEMENTS; k++) {
            sum = factor * sum + items.x[k];
            out[k] = sum;
        }
        line.store(view.y, line.first(position), packed, out);
    }
    __device__ void end(size_t, size_t) const {}
};

template <typename T> __device__ T discount_step(T factor, T carried, T x) {
    return affine_is_cut(factor) ? x : factor * carried + x;
}

template <typename T, bool BACKWARD> struct DiscountGeneral {
    typedef Affine<double> Map;
    enum { ELEMENTS = VectorOf<T>::LENGTH, VECTORS = 2 };
    typedef DiscountItems<T> Items;
    DiscountReader<T, BACKWARD> reader;

    __device__ void begin(size_t index) { reader.begin(index); }
    __device__ Items load(size_t position) const { return reader.load(position); }
    __device__ Map map(const Items &items) const {
        Affine<T> all;
#pragma unroll
        for (unsigned k = 0; k < ELEMENTS; k++) all.merge({items.factor[k], items.x[k]});
        return {(double)all.a, (double)all.b};
    }
    __device__ Map scan_warp(const Map &own, Map *total) const {
        return scan_warp_by_shuffles(own, total);
    }
    __device__ void store(const Items &items, size_t position, const Map &before) {
        T sum = (T)before.b, out[ELEMENTS];
#pragma unroll
        for (unsigned k = 0; k < ELEMENTS; k++) {
            sum = discount_step(items.factor[k], sum, items.x[k]);
            out[k] = sum;
        }
        reader.line.store(reader.view.y, reader.line.first(position), reader.packed, out);
    }
    __device__ void end(size_t, size_t) const {}
};

/* Rows that a warp reads at once are put together, several to a line, as many as a tile holds: one large tile if there are many. */
template <typename T> static inline DiscountLines discount_lines(const VariantArgs *args, unsigned threads) {
    typedef DiscountGeneral<T, false> Work;
    DiscountLines lines = {discount_batch(args), discount_n(args), 1, 0, discount_is_right(args)};
    if (lines.n == 0 || lines.n > (size_t)Work::ELEMENTS * WARP) return lines;
    const size_t small = scan_tile_length<Work>(threads, 1), large = scan_tile_length<Work>(threads, Work::VECTORS);
    const size_t rows = (lines.batch * lines.n / large >= SCAN_BLOCKS_FULL ? large : small) / lines.n;
    if (rows > 1) lines.rows = rows - (rows * lines.n % Work::ELEMENTS != 0); /* one row less where lines begin anywhere */
    return lines;
}

template <class Work> static inline ScanShape discount_shape(const DiscountLines &lines, ScanChoice choice) {
    const bool aligned = lines.rows * lines.n % Work::ELEMENTS == 0 && lines.segment % Work::ELEMENTS == 0;
    const size_t length = line_positions(lines.longest(), Work::ELEMENTS, aligned), count = lines.count();
    /* Many short lines: no more threads than a line has vectors for. */
    const size_t enough = divide_up(divide_up(length, Work::ELEMENTS * Work::VECTORS), WARP) * WARP;
    if (count >= SCAN_BLOCKS_FULL && enough < choice.threads) choice.threads = enough > WARP ? (unsigned)enough : (unsigned)WARP;
    return scan_shape<Work>(count, length, choice);
}

/* Of both ops' cuda_block_scan. */
static const char *const DISCOUNT_TILES[] = {"auto", "small", "large", NULL};
#define DISCOUNT_TUNABLES                                                                                                          \
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", 32, SCAN_THREADS_MAX, NULL},                             \
        {"strips", "parts of a row, a block each; 0: by shape, 1: one block and one launch", PARAM_INT, "0", 0, 65536, NULL}, {    \
        "tiles", "elements of a thread at a time: small: 16 bytes, large: several times that", PARAM_CHOICE, "auto", 0, 0,         \
            DISCOUNT_TILES                                                                                                         \
    }
static inline ScanChoice discount_choice(const VariantArgs *args) {
    return {(unsigned)params_int(args->tunables, "threads"), (unsigned)params_choice(args->tunables, "tiles"),
            (size_t)params_int(args->tunables, "strips")};
}
static inline bool discount_choice_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const unsigned threads = discount_choice(args).threads;
    return threads % WARP == 0 || variant_refuse(reason, "threads=%u is no multiple of 32", threads);
}

#endif
