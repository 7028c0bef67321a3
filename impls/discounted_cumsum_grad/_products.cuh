/* _products.cuh - dgamma from the sums and from dx, for variants that have both in memory: two kernels, of which the second adds up
 * what the first leaves of each part of a row. */
#pragma once

#include "discounted_cumsum_grad/_shared.cuh"

/* Products of dx and the sums: into dgamma if each element has a gamma, else their sum over each part of a row into partials. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_THREADS)
    gradient_kernel(DiscountView<T> view, bool right, const T *y, const T *dx, T *dgamma, double *partials, unsigned parts) {
    __shared__ GradientSum totals[WARP];
    const unsigned row = blockIdx.x / parts, part = blockIdx.x - row * parts;
    const size_t begin = (size_t)part * GRADIENT_PART, end = view.n - begin < GRADIENT_PART ? view.n : begin + GRADIENT_PART;
    double sum = 0;
    for (size_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const double product = gradient_product(view, right, row, i, y, dx);
        if (dgamma) dgamma[row * view.n + i] = (T)product;
        sum += product;
    }
    if (dgamma) return;
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/* Block b adds up terms[b count .. (b + 1) count), always in the same order. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_SUM_THREADS) sum_kernel(const double *terms, size_t count, T *sums) {
    __shared__ GradientSum totals[WARP];
    terms += blockIdx.x * count;
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += terms[i];
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) sums[blockIdx.x] = (T)sum;
}

/* Both scans are done: dgamma from the sums and dx. */
template <typename T> static Status gradient_finish(const VariantArgs *args, const T *sums, double *partials) {
    const DiscountView<T> view = discount_view<T>(args);
    const size_t parts = gradient_parts(view.n), outputs = gradient_outputs(args), count = view.batch * parts / outputs;
    const LaunchShape shape = {dim3((unsigned)(view.batch * parts)), dim3(gradient_threads(view.n, GRADIENT_THREADS)), 0,
                               args->stream};
    const T *dx = (const T *)args->out[OUT_DX].data;
    T *dgamma = (T *)args->out[OUT_DGAMMA].data;
    const bool each = view.gamma_per == DISCOUNT_GAMMA_ELEMENT, right = discount_is_right(args);
    TRY(launch(gradient_kernel<T>, shape, view, right, sums, dx, each ? dgamma : nullptr, partials, (unsigned)parts));
    if (each) return STATUS_OK;
    return launch(sum_kernel<T>, gradient_sum_launch(outputs, count, args->stream), (const double *)partials, count, dgamma);
}
