/* _shared.cuh - what the CUDA variants of discounted_cumsum_grad share: the inputs of its two scans, the product of an element, and
 * the layout of scratch.
 *
 * The sums y follow their direction; dx is a scan of dy against it, where an element takes from its neighbour with the factor with
 * which the sums took into the neighbour. The factor of element i multiplied y[i +- 1], so its gradient is dx[i] y[i +- 1]: 0 for
 * the first of a row and for a reset. A gamma of a row or of all gets the sum. */
#pragma once

#include "common/block_scan.cuh"
#include "common/discounted_cumsum/case.cuh"

enum { IN_X, IN_GAMMA, IN_DY, IN_RESET, OUT_DX = 0, OUT_DGAMMA };

/* From x into y. */
template <typename T> static inline DiscountView<T> gradient_sums_view(const VariantArgs *args, T *y) {
    DiscountView<T> view = discount_view<T>(args);
    view.y = y;
    return view;
}
/* From dy into dx. */
template <typename T> static inline DiscountView<T> gradient_adjoint_view(const VariantArgs *args) {
    DiscountView<T> view = discount_view<T>(args);
    view.x = (const T *)args->in[IN_DY].data;
    return view;
}

/* A sum for warp_reduce and block_reduce. */
struct GradientSum {
    double sum = 0;
    __device__ void merge(const GradientSum &other) { sum += other.sum; }
};
template <bool UP> __device__ GradientSum shuffle(const GradientSum &a, unsigned distance) {
    return {shuffle_value<UP>(a.sum, distance)};
}
/* Thread 0 gets the sum of all threads. totals: shared memory for 32. */
static inline __device__ double gradient_block_sum(double own, GradientSum *totals) {
    return block_reduce(GradientSum{own}, totals).sum;
}

/* The gradient of the factor of element i of a row, from the sums y and from dx. A product of floats may be beyond the range of
 * floats though their sum is not, so it is a double. */
template <typename T>
__device__ double gradient_product(const DiscountView<T> &view, bool right, size_t row, size_t i, const T *y, const T *dx) {
    const size_t flat = row * view.n + i;
    if (i == (right ? view.n - 1 : 0) || (view.reset && view.reset[flat])) return 0;
    return (double)dx[flat] * (double)y[right ? flat + 1 : flat - 1];
}

/* dgamma of a row is of the dtype, one of all of the type of sums. */
template <typename T>
static inline __device__ void gradient_store(const DiscountView<T> &view, void *dgamma, size_t row, double sum) {
    if (view.gamma_per == DISCOUNT_GAMMA_ROW)
        ((T *)dgamma)[row] = (T)(SumOf<T>)sum;
    else
        ((SumOf<T> *)dgamma)[row] = (SumOf<T>)sum;
}

constexpr unsigned GRADIENT_THREADS = 256, GRADIENT_SUM_THREADS = 512;
constexpr size_t GRADIENT_PART = 8192; /* elements of a row whose products a block adds up */

static inline size_t gradient_parts(size_t n) {
    return divide_up(n, GRADIENT_PART);
}
/* Numbers in dgamma. */
static inline size_t gradient_outputs(const VariantArgs *args) {
    return array_count(&args->out[OUT_DGAMMA]);
}
/* Whole warps for so many elements, one at least. */
static inline unsigned gradient_threads(size_t elements, unsigned most) {
    const size_t wanted = divide_up(elements, WARP) * WARP;
    return wanted == 0 ? (unsigned)WARP : wanted < most ? (unsigned)wanted : most;
}
/* A block for each of `outputs` sums of `count` terms. */
static inline LaunchShape gradient_sum_launch(size_t outputs, size_t count, void *stream) {
    return {dim3((unsigned)outputs), dim3(gradient_threads(divide_up(count, 2), GRADIENT_SUM_THREADS)), 0, stream};
}

/* All terms, and room in the grid for a block for each part of a row and for each row's gamma. */
static inline bool gradient_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (discount_terms(args) > 0)
        return variant_refuse(reason, "k=%zu: this variant takes sums of all terms; cuda_windows takes k", discount_terms(args));
    const size_t parts = discount_batch(args) * gradient_parts(discount_n(args));
    const size_t outputs = discount_gamma_per(args) == DISCOUNT_GAMMA_ROW ? discount_batch(args) : 1;
    return discount_fits_grid(args, parts > outputs ? parts : outputs, reason);
}

/* The gradients of no elements are 0. */
static inline Status gradient_of_nothing(const VariantArgs *args) {
    const Array *dgamma = &args->out[OUT_DGAMMA];
    if (array_count(dgamma) == 0) return STATUS_OK;
    TRY_CUDA(cudaMemsetAsync(dgamma->data, 0, array_bytes(dgamma), (cudaStream_t)args->stream));
    return STATUS_OK;
}

/* As discount_run(). */
template <typename Call> static Status gradient_run(const VariantArgs *args, Call call) {
    return discount_is_empty(args) ? gradient_of_nothing(args) : discount_run(args, call);
}
/* As discount_run_stored(). */
template <typename Call> static Status gradient_run_stored(const VariantArgs *args, Call call) {
    return discount_is_empty(args) ? gradient_of_nothing(args) : discount_run_stored(args, call);
}

/* Scratch: the sums, partial sums of products, and what the scans need. */
static inline size_t gradient_align(size_t bytes) {
    return divide_up(bytes, 256) * 256;
}
/* An array like x. */
static inline size_t gradient_array_bytes(const VariantArgs *args) {
    return gradient_align(array_bytes(&args->out[OUT_DX]));
}
static inline size_t gradient_partials_bytes(const VariantArgs *args) {
    return gradient_align(discount_batch(args) * gradient_parts(discount_n(args)) * sizeof(double));
}
static inline size_t gradient_scratch_bytes(const VariantArgs *args, size_t rest) {
    return gradient_array_bytes(args) + gradient_partials_bytes(args) + rest;
}
template <typename T> struct GradientScratch {
    T *sums;
    double *partials;
    void *rest;
};
template <typename T> static inline GradientScratch<T> gradient_scratch(const VariantArgs *args) {
    char *const sums = (char *)args->scratch, *const partials = sums + gradient_array_bytes(args);
    return {(T *)sums, (double *)partials, partials + gradient_partials_bytes(args)};
}
