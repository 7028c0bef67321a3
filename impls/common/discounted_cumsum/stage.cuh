/* stage.cuh - the log stages: which element takes from which, by which power of gamma. For the log-stage variants of
 * discounted_cumsum and of its gradient.
 *
 * Before stage s each group of h = 2^s elements has its own sums. The stage joins groups two by two: each element of the group that
 * comes later in the direction of the sums gets what the other group passes on. */
#pragma once

#include "common/affine.cuh"
#include "common/discounted_cumsum/case.cuh"
#include "common/discounted_cumsum/case.h"

/* Where thread t of a stage works: element `to` takes from element `from`, `power` elements away. */
struct StagePair {
    size_t to, from, power;
};
template <bool RIGHT> __device__ StagePair stage_pair(size_t t, unsigned stage) {
    const size_t half = (size_t)1 << stage, group = t >> stage, within = t - group * half, begin = 2 * half * group;
    if (RIGHT) return {begin + within, begin + half, half - within};
    return {begin + half + within, begin + half - 1, within + 1};
}
/* gamma^exponent by pow(). A float past 2^24 is even, so the sign comes from the exponent itself. */
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

/* The factor of the sum carried into an element: a cut at resets and where the row begins (in the direction of the sums). */
template <typename T> __device__ T stage_sums_factor(const DiscountView<T> &view, bool right, size_t row, size_t column) {
    const size_t flat = row * view.n + column;
    const bool cut = column == (right ? view.n - 1 : 0) || (view.reset && view.reset[flat]);
    return cut ? affine_cut<T>() : affine_factor(view.factor(row, flat));
}

/* The same for a scan in direction `backward`, where `right` is the direction of the sums. A scan against the sums, as gradients
 * need it, carries over a border of two elements with the factor that the sums have there: the neighbour's. */
template <typename T> __device__ T stage_factor(const DiscountView<T> &view, bool right, bool backward, size_t row, size_t column) {
    if (right == backward) return stage_sums_factor(view, right, row, column);
    if (column == (backward ? view.n - 1 : 0)) return affine_cut<T>();
    return stage_sums_factor(view, right, row, backward ? column + 1 : column - 1);
}

/* The largest power of gamma in sums of k terms by doubling: the last stage puts a part of 2^s elements, itself joined of two
 * halves, behind the terms of the lower bits of k. */
static inline size_t stage_window_exponent(size_t terms) {
    size_t largest = 1;
    while (largest <= terms / 2) largest *= 2;
    return terms - largest > largest / 2 ? terms - largest : largest / 2;
}

/* Threads of kernels that take one element each. */
enum { STAGE_FLAT_THREADS = 256 };

/* threads: of a block of a stage. */
static inline bool stage_supports(const VariantArgs *args, unsigned threads, char reason[REASON_MAX]) {
    const size_t n = discount_n(args), pairs = n > 1 ? stage_pairs<true>(n, stage_count(n) - 1) : 1;
    const size_t stage_blocks = divide_up(pairs, threads), flat_blocks = divide_up(n, STAGE_FLAT_THREADS);
    const size_t most = stage_blocks > flat_blocks ? stage_blocks : flat_blocks, terms = discount_terms(args);
    if (!discount_fits_grid(args, most * discount_batch(args), reason)) return false;
    return terms == 0 || discount_power_fits(args, stage_window_exponent(terms), args->problem->dtype, reason);
}

/* What follows is torch-discounted-cumsum 1.1.0 itself: its count of stages, and what it cannot do. */
constexpr size_t PUBLISHED_BATCH_MAX = 65535, PUBLISHED_ELEMENTS_MAX = 2147483647;

/* The logarithm of a float, rounded up: one too few for n = 2^21 + 1 and others above. */
static inline int stage_count_published(size_t n) {
    return (int)ceilf(log2f((float)n));
}

static inline bool stage_published_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t batch = discount_batch(args), n = discount_n(args);
    if (discount_gamma_per(args) == DISCOUNT_GAMMA_ELEMENT)
        return variant_refuse(reason, "gamma_per=element: the published code has one gamma, or one for each row");
    if (discount_has_reset(args)) return variant_refuse(reason, "reset=mask: the published code has no mask");
    if (discount_terms(args) > 0)
        return variant_refuse(reason, "k=%zu: the published code has no sums of k terms", discount_terms(args));
    if (batch > PUBLISHED_BATCH_MAX)
        return variant_refuse(reason, "batch=%zu: the published grid has a y for each row, at most %zu", batch,
                              PUBLISHED_BATCH_MAX);
    if (batch > 0 && n > PUBLISHED_ELEMENTS_MAX / batch)
        return variant_refuse(reason, "batch=%zu n=%zu: the published code has 32-bit indices", batch, n);
    if (n > 1 && (unsigned)stage_count_published(n) != stage_count(n))
        return variant_refuse(reason, "n=%zu needs %u stages; the published code counts %d, by the logarithm of a float", n,
                              stage_count(n), stage_count_published(n));
    if (!discount_is_f64(args) && params_real(&args->problem->params, "gamma") < 0 && n > (size_t)1 << 25)
        return variant_refuse(reason, "gamma<0 n=%zu: the published powers have a float exponent, always even past 2^24", n);
    return true;
}
