/* window.cuh - sums of at most k terms without a subtraction.
 *
 * Few terms: each thread sums its own. Many: as van Herk and Gil-Werman do it for any associative operator. Rows are cut into
 * segments of k elements; a sum is what the own segment has up to its element, and behind that the end of the segment before, k - 1
 * elements away. Two scans: the ends of all segments (against the direction of the sums, composed the other way round), then the
 * sums. */
#ifndef RUNGS_DISCOUNT_WINDOW_CUH
#define RUNGS_DISCOUNT_WINDOW_CUH

#include "common/discounted_cumsum/power.h"
#include "common/discounted_cumsum/scan.cuh"

constexpr size_t WINDOW_DIRECT_MAX = 128;
constexpr unsigned WINDOW_THREADS = 256;

template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(WINDOW_THREADS) window_direct_kernel(DiscountView<T> view, unsigned terms) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n, column = flat - row * view.n, left = RIGHT ? view.n - 1 - column : column;
    const T common = affine_factor(view.factor(row, flat));
    T sum = 0;
    for (size_t distance = left < terms - 1 ? left : terms - 1;; distance--) {
        const size_t at = RIGHT ? flat + distance : flat - distance;
        const T factor = view.gamma_per == DISCOUNT_GAMMA_ELEMENT ? affine_factor(view.gamma[at]) : common;
        sum = view.reset && view.reset[at] ? view.x[at] : factor * sum + view.x[at];
        if (distance == 0) break;
    }
    view.y[flat] = sum;
}

/* Composed in the order opposite to that of the scan. */
struct AgainstScan {
    Affine<double> map;

    __device__ void merge(const AgainstScan &other) {
        Affine<double> all = other.map;
        all.merge(map);
        map = all;
    }
};
template <bool UP> __device__ AgainstScan shuffle(const AgainstScan &a, unsigned distance) {
    return {shuffle<UP>(a.map, distance)};
}
static inline __device__ AgainstScan shuffle_from(const AgainstScan &a, unsigned lane) {
    return {shuffle_from(a.map, lane)};
}

/* tails[i]: sum that element i and the rest of its segment give to what follows the segment. */
template <typename T, bool BACKWARD> struct WindowTails {
    typedef AgainstScan Map;
    enum { ELEMENTS = VectorOf<T>::LENGTH, VECTORS = 2 };
    typedef DiscountItems<T> Items;
    DiscountReader<T, BACKWARD> reader;
    T *tails;

    __device__ void begin(size_t index) { reader.begin(index); }
    __device__ Items load(size_t position) const { return reader.load(position); }
    __device__ Map map(const Items &items) const {
        Map all;
#pragma unroll
        for (unsigned k = 0; k < ELEMENTS; k++) all.merge({{(double)items.factor[k], (double)items.x[k]}});
        return all;
    }
    __device__ Map scan_warp(const Map &own, Map *total) const {
        return scan_warp_by_shuffles(own, total);
    }
    __device__ void store(const Items &items, size_t position, const Map &before) {
        Map all = before;
        T out[ELEMENTS];
#pragma unroll
        for (unsigned k = 0; k < ELEMENTS; k++) {
            all.merge({{(double)items.factor[k], (double)items.x[k]}});
            out[k] = (T)all.map.b;
        }
        reader.line.store(tails, reader.line.first(position), reader.packed, out);
    }
    __device__ void end(size_t, size_t) const {}
};

template <typename T, bool BACKWARD> struct WindowSums {
    typedef Affine<double> Map;
    enum { ELEMENTS = VectorOf<T>::LENGTH, VECTORS = 2 };
    typedef DiscountItems<T> Items;
    typedef DiscountReader<T, BACKWARD> Reader;
    Reader reader;
    const T *tails;
    bool follows; /* a segment of the same row */

    __device__ void begin(size_t index) {
        reader.begin(index);
        follows = index % reader.lines.segments() > 0;
    }
    __device__ Items load(size_t position) const { return reader.load(position); }
    __device__ Map map(const Items &items) const {
        Map all;
#pragma unroll
        for (unsigned k = 0; k < ELEMENTS; k++) all.merge({(double)items.factor[k], (double)items.x[k]});
        return all;
    }
    __device__ Map scan_warp(const Map &own, Map *total) const {
        return scan_warp_by_shuffles(own, total);
    }
    __device__ void store(const Items &items, size_t position, const Map &before) {
        const long long low = reader.line.first(position), terms = (long long)reader.lines.segment;
        Map all = before;
        T out[ELEMENTS];
#pragma unroll
        for (unsigned k = 0; k < ELEMENTS; k++) {
            all.merge({(double)items.factor[k], (double)items.x[k]});
            const long long flat = Reader::Line::at(low, k);
            const long long done =
                BACKWARD ? reader.line.end - flat : flat - reader.line.begin + 1; /* elements of the own segment */
            const bool more = follows && done < terms && reader.line.holds(flat);
            out[k] = (T)(more ? all.of((double)tails[BACKWARD ? flat + terms - 1 : flat - terms + 1]) : all.b);
        }
        reader.line.store(reader.view.y, low, reader.packed, out);
    }
    __device__ void end(size_t, size_t) const {}
};

/* Products of factors are double; a thread that sums its own needs none. */
static inline bool window_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t terms = discount_terms(args);
    if (terms <= WINDOW_DIRECT_MAX) return true;
    return discount_power_fits(args, discount_block_exponent(discount_n(args), terms), DTYPE_F64, reason);
}

/* Scratch: one T for each element, then the strips of either scan. */
struct WindowPlan {
    DiscountLines lines;
    ScanShape tails, sums;
    size_t tails_bytes, bytes;
};

template <typename T> static inline WindowPlan window_plan(const VariantArgs *args, const ScanChoice &choice) {
    typedef WindowTails<T, false> Tails;
    typedef WindowSums<T, false> Sums;
    WindowPlan plan = {};
    plan.lines = {discount_batch(args), discount_n(args), 1, discount_terms(args), discount_is_right(args)};
    plan.tails = discount_shape<Tails>(plan.lines, choice);
    plan.sums = discount_shape<Sums>(plan.lines, choice);
    plan.tails_bytes = divide_up(plan.lines.batch * plan.lines.n * sizeof(T), 256) * 256;
    const size_t first = scan_scratch_bytes<Tails>(plan.tails), second = scan_scratch_bytes<Sums>(plan.sums);
    plan.bytes = plan.tails_bytes + (first > second ? first : second);
    return plan;
}

template <typename T, bool RIGHT>
static Status window_launch(const VariantArgs *args, const DiscountView<T> &view, const ScanChoice &choice) {
    const size_t terms = discount_terms(args);
    if (terms <= WINDOW_DIRECT_MAX) {
        const unsigned blocks = (unsigned)divide_up(view.batch * view.n, (size_t)WINDOW_THREADS);
        return launch(window_direct_kernel<T, RIGHT>, {dim3(blocks), dim3(WINDOW_THREADS), 0, args->stream}, view, (unsigned)terms);
    }
    const WindowPlan plan = window_plan<T>(args, choice);
    const bool packed = discount_is_packed(args);
    T *tails = (T *)args->scratch;
    void *maps = (char *)args->scratch + plan.tails_bytes;
    const WindowTails<T, !RIGHT> first = {{view, plan.lines, packed, {}, 0, 0}, tails};
    const WindowSums<T, RIGHT> second = {{view, plan.lines, packed, {}, 0, 0}, tails, false};
    TRY(scan_launch(first, plan.tails, maps, args->stream));
    return scan_launch(second, plan.sums, maps, args->stream);
}

#endif
