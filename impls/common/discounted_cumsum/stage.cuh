/* stage.cuh - discounted sums by doubling, in place: before stage s each group of h = 2^s elements has its own sums; the
 * stage joins groups two by two, adding to each element of the one that comes later in the direction of the sums what the other
 * passes on.
 *
 * STAGE_POW: the powers of a row's one factor by pow(); STAGE_SQUARING: by squaring; STAGE_PRODUCTS: any factors, in an array
 * beside the sums that holds for each element the product of the factors from it to the end of its group, and doubles along. */
#ifndef RUNGS_DISCOUNT_STAGE_CUH
#define RUNGS_DISCOUNT_STAGE_CUH

#include "common/affine.cuh"
#include "common/discounted_cumsum/case.cuh"
#include "common/discounted_cumsum/power.h"

enum StagePowers { STAGE_POW, STAGE_SQUARING, STAGE_PRODUCTS };

/* Where thread t of a stage works: element `to` takes from element `from`, `power` elements away. */
struct StagePair {
    size_t to, from, power;
};
template <bool RIGHT> __device__ StagePair stage_pair(size_t t, unsigned stage) {
    const size_t half = (size_t)1 << stage, group = t >> stage, within = t - group * half, begin = 2 * half * group;
    if (RIGHT) return {begin + within, begin + half, half - within};
    return {begin + half + within, begin + half - 1, within + 1};
}
/* The exponent as it is published, a T: past 2^24 a float is even, so the sign is that of the exponent itself. */
template <typename T> __device__ T stage_pow(T gamma, size_t exponent) {
    const T size = pow(fabs(gamma), (T)exponent);
    return gamma < 0 && exponent % 2 ? -size : size;
}
/* Threads with work in a row of n. */
template <bool RIGHT> static inline size_t stage_pairs(size_t n, unsigned stage) {
    const size_t half = (size_t)1 << stage, rest = n % (2 * half);
    if (RIGHT) return (n / (2 * half) + (rest > half)) * half;
    return n / (2 * half) * half + (rest > half ? rest - half : 0);
}
/* ceil(log2 n), in integers. */
static inline unsigned stage_count(size_t n) {
    unsigned stages = 0;
    while (((size_t)1 << stages) < n) stages++;
    return stages;
}

/* gamma: of each row, or one. Each row has blocks_per_row blocks. */
template <typename T, bool RIGHT, StagePowers POWERS>
static __global__ void stage_kernel(DiscountView<T> view, T *factors, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<RIGHT>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    if (POWERS == STAGE_PRODUCTS) {
        factors += row * view.n;
        const T factor = factors[pair.to];
        y[pair.to] = Affine<T>{factor, y[pair.to]}.of(y[pair.from]);
        factors[pair.to] = affine_product(factors[pair.from], factor);
    } else {
        const T gamma = affine_factor(view.factor(row, 0));
        y[pair.to] += y[pair.from] * (POWERS == STAGE_POW ? stage_pow(gamma, pair.power) : affine_power(gamma, pair.power));
    }
}

/* Stages first .. of all rows of view.y, which holds what the earlier ones made of the elements. */
template <typename T, bool RIGHT, StagePowers POWERS>
static Status stage_launches(const DiscountView<T> &view, T *factors, unsigned first, unsigned threads, void *stream) {
    for (unsigned stage = first; stage < stage_count(view.n); stage++) {
        const unsigned blocks = (unsigned)divide_up(stage_pairs<RIGHT>(view.n, stage), threads);
        TRY(launch(stage_kernel<T, RIGHT, POWERS>, {dim3(blocks * (unsigned)view.batch), dim3(threads), 0, stream}, view, factors,
                   stage, blocks));
    }
    return STATUS_OK;
}

/* The factor of what the sums carry into an element, a cut at resets and where the row begins (in the direction of the sums). */
template <typename T> __device__ T stage_sums_factor(const DiscountView<T> &view, bool right, size_t row, size_t column) {
    const size_t flat = row * view.n + column;
    const bool cut = column == (right ? view.n - 1 : 0) || (view.reset && view.reset[flat]);
    return cut ? affine_cut<T>() : affine_factor(view.factor(row, flat));
}

/* The factor of what a scan carries into an element. `right` is the direction of the sums, `backward` that of the scan: against it,
 * as gradients go, an element takes from its neighbour what the sums took into the neighbour, so the factor is the neighbour's. */
template <typename T> __device__ T stage_factor(const DiscountView<T> &view, bool right, bool backward, size_t row, size_t column) {
    if (right == backward) return stage_sums_factor(view, right, row, column);
    if (column == (backward ? view.n - 1 : 0)) return affine_cut<T>();
    return stage_sums_factor(view, right, row, backward ? column + 1 : column - 1);
}

template <typename T> static __global__ void stage_factors_kernel(DiscountView<T> view, bool right, bool backward, T *factors) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    factors[flat] = stage_factor(view, right, backward, row, flat - row * view.n);
}

enum { STAGE_FLAT_THREADS = 256 };

template <typename T>
static Status stage_factors(const DiscountView<T> &view, bool right, bool backward, T *factors, void *stream) {
    const unsigned threads = STAGE_FLAT_THREADS, blocks = (unsigned)divide_up(view.batch * view.n, threads);
    return launch(stage_factors_kernel<T>, {dim3(blocks), dim3(threads), 0, stream}, view, right, backward, factors);
}

/* Sums of k terms. At stage s, part[i] is the map of the 2^s elements that begin at i, or as many as the row has; sum[i] is that of
 * as many elements as the lower s bits of k say. The stage appends what bit s asks for to sum and doubles part. */
template <typename T, bool RIGHT>
static __global__ void stage_window_kernel(DiscountView<T> view, Affine<T> *sum, const Affine<T> *part, Affine<T> *doubled,
                                           size_t done, size_t half, bool append, bool last) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n, column = flat - row * view.n, left = RIGHT ? view.n - 1 - column : column;
    Affine<T> all = done == 0 ? Affine<T>() : sum[flat];
    if (append && left >= done) {
        Affine<T> behind = part[RIGHT ? flat + done : flat - done];
        behind.merge(all);
        all = behind;
    }
    if (last) {
        view.y[flat] = all.b;
        return;
    }
    sum[flat] = all;
    Affine<T> both = part[flat];
    if (left >= half) {
        Affine<T> behind = part[RIGHT ? flat + half : flat - half];
        behind.merge(both);
        both = behind;
    }
    doubled[flat] = both;
}

template <typename T> static __global__ void stage_window_begin_kernel(DiscountView<T> view, bool right, Affine<T> *part) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    part[flat] = {stage_sums_factor(view, right, row, flat - row * view.n), view.x[flat]};
}

/* Scratch: three maps for each element. */
template <typename T, bool RIGHT>
static Status stage_window(const DiscountView<T> &view, size_t terms, void *scratch, void *stream) {
    const size_t count = view.batch * view.n;
    const unsigned threads = STAGE_FLAT_THREADS;
    const LaunchShape shape = {dim3((unsigned)divide_up(count, threads)), dim3(threads), 0, stream};
    Affine<T> *sum = (Affine<T> *)scratch, *part = sum + count, *doubled = part + count;
    TRY(launch(stage_window_begin_kernel<T>, shape, view, RIGHT, part));
    size_t done = 0;
    for (size_t half = 1; half <= terms; half *= 2) {
        const bool append = (terms & half) != 0, last = half > terms / 2;
        TRY(launch(stage_window_kernel<T, RIGHT>, shape, view, sum, part, doubled, done, half, append, last));
        if (append) done += half;
        Affine<T> *const swap = part;
        part = doubled;
        doubled = swap;
    }
    return STATUS_OK;
}

/* What a variant of stages needs beside its output: factors or maps. */
static inline size_t stage_scratch_bytes(const VariantArgs *args) {
    const size_t bytes = array_bytes(&args->out[0]);
    return discount_terms(args) > 0 ? 6 * bytes : discount_is_uniform(args) ? 0 : bytes;
}

/* The largest power of gamma that sums of k terms are weighted by: the last stage puts a part of 2^s elements, itself joined of two
 * halves, behind the terms of the lower bits of k. */
static inline size_t stage_window_exponent(size_t terms) {
    size_t largest = 1;
    while (largest <= terms / 2) largest *= 2;
    return terms - largest > largest / 2 ? terms - largest : largest / 2;
}

static inline bool stage_supports(const VariantArgs *args, unsigned threads, char reason[REASON_MAX]) {
    const size_t n = discount_n(args), pairs = n > 1 ? stage_pairs<true>(n, stage_count(n) - 1) : 1;
    const size_t most =
        divide_up(pairs, threads) > divide_up(n, STAGE_FLAT_THREADS) ? divide_up(pairs, threads) : divide_up(n, STAGE_FLAT_THREADS);
    if (!discount_fits_grid(args, most * discount_batch(args), reason)) return false;
    const size_t terms = discount_terms(args);
    return terms == 0 || discount_power_fits(args, stage_window_exponent(terms), args->problem->dtype, reason);
}

#endif
