/* Idea: one cub::DeviceScan of affine maps for the sums and one for dx, the other way (see discounted_cumsum's cuda_cub_scan). Then
 * the products of dx and the sums, and their sum for each gamma.
 * Traffic: 4 reads and 2 writes of n, and CUB's look-back.
 * Rounding: trees whose shape depends on the order in which blocks finish: the last bits may differ from run to run. Products and
 *   their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks for the sums of the products.
 * Origin: Merrill and Garland 2016 (decoupled look-back), in CUB; Blelloch 1990 for the operator. */
#include "common/affine.cuh"
#include "common/scan_iterator.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

#include <cub/device/device_scan.cuh>

namespace { /* types of this variant alone */
/* Which element a position of the scan is. against: the scan goes against the direction of the sums, and an element takes the
 * factor of the one before it in the scan. */
struct GradOrder {
    size_t n, count;
    double rows_per_element; /* 1 / n: a product and a correction are cheaper than a division */
    bool backward, against;

    __host__ __device__ size_t flat(size_t position) const { return backward ? count - 1 - position : position; }
    /* The product is off by less than one row. */
    __host__ __device__ size_t row(size_t element) const {
        if (n == count) return 0;
        const size_t guess = (size_t)((double)element * rows_per_element);
        return guess * n > element ? guess - 1 : element - guess * n >= n ? guess + 1 : guess;
    }
};

/* The map of each position. */
template <typename T> struct GradMaps : ScanIterator<GradMaps<T>, Affine<T>, Affine<T>> {
    DiscountView<T> view;
    GradOrder order;

    __host__ __device__ Affine<T> at(size_t position) const {
        const size_t flat = order.flat(position), row = order.row(flat), column = flat - row * order.n;
        const T x = view.x[flat];
        if (column == (order.backward ? order.n - 1 : 0)) return {affine_cut<T>(), x};
        const size_t into = !order.against ? flat : order.backward ? flat + 1 : flat - 1;
        if (view.reset && view.reset[into]) return {affine_cut<T>(), x};
        return {affine_factor(view.factor(row, into)), x};
    }
};

/* Where the sum of each position goes. */
template <typename T> struct KeepSum {
    T *y;
    __host__ __device__ void operator=(const Affine<T> &map) const { *y = map.b; }
};
template <typename T> struct GradSums : ScanIterator<GradSums<T>, Affine<T>, KeepSum<T>> {
    T *y;
    GradOrder order;
    __host__ __device__ KeepSum<T> at(size_t position) const { return {y + order.flat(position)}; }
};
} // namespace

/* From view.x into view.y; scratch null: only how much is needed, into *bytes. */
template <typename T>
static cudaError_t scan(const DiscountView<T> &view, bool backward, bool against, void *scratch, size_t *bytes, void *stream) {
    GradMaps<T> in;
    GradSums<T> out;
    in.view = view;
    out.y = view.y;
    in.order = out.order = {view.n, view.batch * view.n, 1.0 / (double)view.n, backward, against};
    return cub::DeviceScan::InclusiveScan(scratch, *bytes, in, out, ScanMerge(), in.order.count, (cudaStream_t)stream);
}

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

/* Needs no device in the emulator; on a GPU CUB asks the driver, and what it cannot say it leaves at 0. */
template <typename T> static size_t cub_bytes(const VariantArgs *args) {
    size_t bytes = 0;
    if (discount_is_empty(args)) return 0;
    if (scan(discount_view<T>(args), false, false, nullptr, &bytes, args->stream) != cudaSuccess) (void)cudaGetLastError();
    return bytes;
}

/* The rest: CUB's own. */
static size_t scratch_bytes(const VariantArgs *args) {
    return gradient_scratch_bytes(args, discount_is_f64(args) ? cub_bytes<double>(args) : cub_bytes<float>(args));
}

/* Both scans are done: dgamma from the sums and dx. */
template <typename T> static Status finish(const VariantArgs *args, const T *sums, double *partials) {
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

template <typename T> static Status run_typed(const VariantArgs *args) {
    const GradientScratch<T> scratch = gradient_scratch<T>(args);
    const bool right = discount_is_right(args);
    size_t bytes = args->scratch_bytes - gradient_scratch_bytes(args, 0);
    TRY_CUDA(scan(gradient_sums_view(args, scratch.sums), right, false, scratch.rest, &bytes, args->stream));
    TRY_CUDA(scan(gradient_adjoint_view<T>(args), !right, true, scratch.rest, &bytes, args->stream));
    return finish(args, (const T *)scratch.sums, scratch.partials);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return gradient_of_nothing(args);
    return discount_is_f64(args) ? run_typed<double>(args) : run_typed<float>(args);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_cub_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "cub::DeviceScan both ways, then products and their sums",
    .origin = "CUB; Blelloch 1990",
    .supports = gradient_supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
