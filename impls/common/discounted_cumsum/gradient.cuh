/* gradient.cuh - what the CUDA variants of discounted_cumsum_grad share: views of its two scans, and from dx and y to
 * dgamma.
 *
 * The sums y follow their direction; dx is a scan of dy against it, where an element takes from its neighbour what the sums took
 * into the neighbour. The discount of element i multiplied y[i +- 1], so its gradient is dx[i] y[i +- 1]: nothing for the first of
 * a row and for a reset. A discount of a row or of all gets the sum. */
#ifndef RUNGS_DISCOUNT_GRADIENT_CUH
#define RUNGS_DISCOUNT_GRADIENT_CUH

#include "common/affine.cuh"
#include "common/discounted_cumsum/case.cuh"
#include "common/rolling/shuffles.cuh"

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

/* Gradients that each add up to one number: all elements of a row, or of all rows. */
static inline size_t gradient_outputs(const VariantArgs *args) {
    return array_count(&args->out[OUT_DGAMMA]);
}

constexpr unsigned GRADIENT_THREADS = 256, GRADIENT_SUM_THREADS = 512;
constexpr size_t GRADIENT_PART = 8192;

/* Parts of a row that a block sums. */
static inline size_t gradient_parts(size_t n) {
    return divide_up(n, GRADIENT_PART);
}

/* Has the grid room for the sums: a block for each part of a row, and for each row's discount? */
static inline bool gradient_fits_grid(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t parts = discount_batch(args) * gradient_parts(discount_n(args));
    const size_t outputs = discount_gamma_per(args) == DISCOUNT_GAMMA_ROW ? discount_batch(args) : 1;
    return discount_fits_grid(args, parts > outputs ? parts : outputs, reason);
}

static inline bool gradient_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (discount_terms(args) == 0) return gradient_fits_grid(args, reason);
    return variant_refuse(reason, "k=%zu: the gradient of sums of k terms is not in the published code", discount_terms(args));
}

/* With one discount for each element, products go to dgamma; else their sum over each part of a row goes to partials. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_THREADS)
    gradient_products_kernel(DiscountView<T> view, bool right, const T *y, const T *dx, T *dgamma, double *partials,
                             unsigned parts) {
    __shared__ Sum<double> totals[WARP];
    const unsigned row = blockIdx.x / parts, part = blockIdx.x - row * parts;
    const size_t begin = (size_t)part * GRADIENT_PART, end = view.n - begin < GRADIENT_PART ? view.n : begin + GRADIENT_PART;
    const size_t first = right ? view.n - 1 : 0;
    Sum<double> sum;
    for (size_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const size_t flat = row * view.n + i;
        const bool cut = i == first || (view.reset && view.reset[flat]);
        const double product = cut ? 0 : (double)dx[flat] * (double)y[right ? flat + 1 : flat - 1];
        if (dgamma) dgamma[flat] = (T)product;
        sum.push(product);
    }
    if (dgamma) return;
    sum = block_reduce(sum, totals);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum.sum;
}

/* Block b adds up terms[b count .. (b + 1) count). */
template <typename In, typename T>
static __global__ void __launch_bounds__(GRADIENT_SUM_THREADS) gradient_sum_kernel(const In *terms, size_t count, T *sums) {
    __shared__ Sum<double> totals[WARP];
    terms += blockIdx.x * count;
    Sum<double> sum;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum.push((double)terms[i]);
    sum = block_reduce(sum, totals);
    if (threadIdx.x == 0) sums[blockIdx.x] = (T)sum.sum;
}

/* Whole warps for so many elements, one at least. */
static inline unsigned gradient_threads(size_t elements, unsigned most) {
    const size_t wanted = divide_up(elements, WARP) * WARP;
    return wanted == 0 ? (unsigned)WARP : wanted < most ? (unsigned)wanted : most;
}

/* `count` terms to each of `outputs` sums. */
template <typename In, typename T>
static Status gradient_sum(const In *terms, size_t outputs, size_t count, T *sums, void *stream) {
    const unsigned threads = gradient_threads(divide_up(count, 2), GRADIENT_SUM_THREADS);
    return launch(gradient_sum_kernel<In, T>, {dim3((unsigned)outputs), dim3(threads), 0, stream}, terms, count, sums);
}

/* The gradients of nothing are 0. */
template <typename T> static Status gradient_of_nothing(const VariantArgs *args) {
    const size_t outputs = gradient_outputs(args);
    T *dgamma = (T *)args->out[OUT_DGAMMA].data;
    return outputs == 0 ? STATUS_OK : gradient_sum((const T *)dgamma, outputs, 0, dgamma, args->stream);
}

/* Both scans done: dgamma. partials: gradient_partials_bytes. */
template <typename T>
static Status gradient_finish(const VariantArgs *args, const DiscountView<T> &view, const T *y, double *partials) {
    const size_t parts = gradient_parts(view.n), outputs = gradient_outputs(args);
    const unsigned threads = gradient_threads(view.n, GRADIENT_THREADS);
    T *dgamma = (T *)args->out[OUT_DGAMMA].data;
    const bool each = view.gamma_per == DISCOUNT_GAMMA_ELEMENT;
    TRY(launch(gradient_products_kernel<T>, {dim3((unsigned)(view.batch * parts)), dim3(threads), 0, args->stream}, view,
               discount_is_right(args), y, (const T *)args->out[OUT_DX].data, each ? dgamma : nullptr, partials, (unsigned)parts));
    return each ? STATUS_OK : gradient_sum((const double *)partials, outputs, view.batch * parts / outputs, dgamma, args->stream);
}

static inline size_t gradient_align(size_t bytes) {
    return divide_up(bytes, 256) * 256;
}
static inline size_t gradient_partials_bytes(const VariantArgs *args) {
    return gradient_align(discount_batch(args) * gradient_parts(discount_n(args)) * sizeof(double));
}
/* An array like x. */
static inline size_t gradient_array_bytes(const VariantArgs *args) {
    return gradient_align(array_bytes(&args->out[OUT_DX]));
}

/* Scratch where the sums have an array of their own: sums, partial sums of products, and what the scans need. */
template <typename T> struct GradientScratch {
    T *sums;
    double *partials;
    void *rest;
};
static inline size_t gradient_scratch_bytes(const VariantArgs *args, size_t rest) {
    return gradient_array_bytes(args) + gradient_partials_bytes(args) + rest;
}
template <typename T> static inline GradientScratch<T> gradient_scratch(const VariantArgs *args) {
    char *const sums = (char *)args->scratch, *const partials = sums + gradient_array_bytes(args);
    return {(T *)sums, (double *)partials, partials + gradient_partials_bytes(args)};
}

template <template <typename, bool> class Kernels> static Status gradient_dispatch(const VariantArgs *args) {
    if (discount_batch(args) > 0 && discount_n(args) > 0) return discount_dispatch<Kernels>(args);
    return args->problem->dtype == DTYPE_F64 ? gradient_of_nothing<double>(args) : gradient_of_nothing<float>(args);
}

#endif
