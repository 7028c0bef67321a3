/* cub.cuh - discounted sums of all rows as one scan by CUB: its input iterator makes a map of each element, a cut where a
 * row begins; its output iterator keeps only the sum. */
#ifndef RUNGS_DISCOUNT_CUB_CUH
#define RUNGS_DISCOUNT_CUB_CUH

#include "common/affine.cuh"
#include "common/discounted_cumsum/case.cuh"
#include "common/scan_iterator.cuh"

#include <cub/device/device_scan.cuh>

/* Which element a position of the scan is. backward: from the last element of all to the first. against: the scan goes against the
 * direction of the sums, and an element takes the factor of the one before it in the scan. */
struct CubOrder {
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

template <typename T> struct CubMaps : ScanIterator<CubMaps<T>, Affine<T>, Affine<T>> {
    DiscountView<T> view;
    CubOrder order;

    __host__ __device__ Affine<T> at(size_t position) const {
        const size_t flat = order.flat(position), row = order.row(flat), column = flat - row * order.n;
        const T x = view.x[flat];
        if (column == (order.backward ? order.n - 1 : 0)) return {affine_cut<T>(), x};
        const size_t into = !order.against ? flat : order.backward ? flat + 1 : flat - 1;
        if (view.reset && view.reset[into]) return {affine_cut<T>(), x};
        return {affine_factor(view.factor(row, into)), x};
    }
};

template <typename T> struct CubSum {
    T *y;
    __host__ __device__ void operator=(const Affine<T> &map) const { *y = map.b; }
};
template <typename T> struct CubSums : ScanIterator<CubSums<T>, Affine<T>, CubSum<T>> {
    T *y;
    CubOrder order;
    __host__ __device__ CubSum<T> at(size_t position) const { return {y + order.flat(position)}; }
};

/* From view.x into view.y; scratch null: how much is needed into *bytes. */
template <typename T>
static cudaError_t cub_scan(const DiscountView<T> &view, bool backward, bool against, void *scratch, size_t *bytes, void *stream) {
    CubMaps<T> in;
    CubSums<T> out;
    in.view = view;
    out.y = view.y;
    in.order = out.order = {view.n, view.batch * view.n, 1.0 / (double)view.n, backward, against};
    return cub::DeviceScan::InclusiveScan(scratch, *bytes, in, out, ScanMerge(), in.order.count, (cudaStream_t)stream);
}

/* Needs no device in the emulator; on a GPU CUB asks the driver, and what it cannot say it leaves at 0. */
template <typename T> static inline size_t cub_scratch_bytes(const VariantArgs *args) {
    size_t bytes = 0;
    if (discount_batch(args) == 0 || discount_n(args) == 0) return 0;
    if (cub_scan(discount_view<T>(args), false, false, nullptr, &bytes, args->stream) != cudaSuccess) (void)cudaGetLastError();
    return bytes;
}

static inline bool cub_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (discount_terms(args) == 0) return true;
    return variant_refuse(reason, "k=%zu: sums of k terms are no scan", discount_terms(args));
}

#endif
