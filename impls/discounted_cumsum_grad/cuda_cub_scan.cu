/* Idea: one cub::DeviceScan of affine maps for the sums and one for dx, the other way (see discounted_cumsum's cuda_cub_scan). Then
 * the products of dx and the sums, and their sum for each gamma.
 * Traffic: 4 reads and 2 writes of n, and CUB's look-back.
 * Rounding: trees whose shape depends on the order in which blocks finish: the last bits may differ from run to run. Products and
 *   their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks for the sums of the products.
 * Origin: Merrill and Garland 2016 (decoupled look-back), in CUB; Blelloch 1990 for the operator. */
#include "common/affine.cuh"
#include "common/cub_text.cuh"
#include "common/scan_iterator.cuh"
#include "discounted_cumsum_grad/_products.cuh"

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
    __host__ __device__ void operator=(const Affine<SumOf<T>> &map) const { *y = (T)map.b; }
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

template <typename T> static Status run_typed(const VariantArgs *args) {
    const GradientScratch<T> scratch = gradient_scratch<T>(args);
    const bool right = discount_is_right(args);
    size_t bytes = args->scratch_bytes - gradient_scratch_bytes(args, 0);
    TRY_CUDA(scan(gradient_sums_view(args, scratch.sums), right, false, scratch.rest, &bytes, args->stream));
    TRY_CUDA(scan(gradient_adjoint_view<T>(args), !right, true, scratch.rest, &bytes, args->stream));
    return gradient_finish(args, (const T *)scratch.sums, scratch.partials);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return gradient_of_nothing(args);
    return discount_is_f64(args) ? run_typed<double>(args) : run_typed<float>(args);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_cub_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "cub::DeviceScan both ways, then products and their sums",
    .origin = "CUB; Blelloch 1990",
    .library = CUB_TEXT,
    .supports = gradient_supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
