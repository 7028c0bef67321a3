/* Idea: one cub::DeviceScan over the elements of all rows, of affine maps: what an element is multiplied by and what it adds. The
 * first of each row is a cut, which drops what was carried to it. The operator (merge() in affine.cuh) makes one map of two: (a,
 * b), then (c, d) is (a c, c b + d). Composed from the row's first element to an element, it adds that element's sum. To the right
 * the scan goes backwards, from the last element of all. CUB reads the maps through an iterator that makes them from x and gamma,
 * and writes through one that keeps the sum alone. A block of CUB's publishes what its tile composes to, then looks back over the
 * tiles before its own, composing what they published, until one has published all up to it (decoupled look-back). segmented: a
 * scan of each row by cub::DeviceSegmentedScan, in which a block has rows of its own and looks at no other.
 * Traffic: 1 read and 1 write of n, and CUB's look-back.
 * Rounding: trees whose shape depends on the order in which blocks finish: the last bits may differ from run to run. Maps are of the
 *   dtype, of floats for f16 and bf16.
 * Limits: no sums of k terms. After a sum beyond the range, later sums may be finite.
 * Origin: Merrill and Garland 2016 (decoupled look-back), in CUB; Blelloch 1990 for the operator. */
#include "common/affine.cuh"
#include "common/cub_text.cuh"
#include "common/discounted_cumsum/case.cuh"
#include "common/scan_iterator.cuh"

#include <cub/device/device_scan.cuh>
#if __has_include(<cub/device/device_segmented_scan.cuh>) /* CUB 3.3 */
#include <cub/device/device_segmented_scan.cuh>
#define HAS_SEGMENTED true
#else
#define HAS_SEGMENTED false
#endif

static const ParamSpec TUNABLES[] = {
    {"segmented", "1: a scan of each row (cub::DeviceSegmentedScan, CUB 3.3 or newer); 0: one of all", PARAM_INT, "0", 0, 1, NULL},
    {0},
};

namespace { /* types of this variant alone */
/* Which element a position of the scan is. */
struct Order {
    size_t n, count;
    double rows_per_element; /* 1 / n: a product and a correction are cheaper than a division */
    bool backward;

    __host__ __device__ size_t flat(size_t position) const { return backward ? count - 1 - position : position; }
    /* The product is off by less than one row. */
    __host__ __device__ size_t row(size_t element) const {
        if (n == count) return 0;
        const size_t guess = (size_t)((double)element * rows_per_element);
        return guess * n > element ? guess - 1 : element - guess * n >= n ? guess + 1 : guess;
    }
};

/* The map of each position. */
template <typename T> struct Maps : ScanIterator<Maps<T>, Affine<SumOf<T>>, Affine<SumOf<T>>> {
    using Sum = SumOf<T>;
    DiscountView<T> view;
    Order order;

    __host__ __device__ Affine<Sum> at(size_t position) const {
        const size_t flat = order.flat(position), row = order.row(flat), column = flat - row * order.n;
        const Sum x = wide(view.x[flat]);
        if (column == (order.backward ? order.n - 1 : 0)) return {affine_cut<Sum>(), x};
        if (view.reset && view.reset[flat]) return {affine_cut<Sum>(), x};
        return {affine_factor(view.factor(row, flat)), x};
    }
};

/* Where the sum of each position goes. */
template <typename T> struct KeepSum {
    T *y;
    __host__ __device__ void operator=(const Affine<SumOf<T>> &map) const { *y = (T)map.b; }
};
template <typename T> struct ScanSums : ScanIterator<ScanSums<T>, Affine<SumOf<T>>, KeepSum<T>> {
    T *y;
    Order order;
    __host__ __device__ KeepSum<T> at(size_t position) const { return {y + order.flat(position)}; }
};

#if HAS_SEGMENTED
/* Where the scan of a row begins. */
struct RowStart : ScanIterator<RowStart, long long, long long> {
    size_t n;
    __host__ __device__ long long at(size_t row) const { return (long long)(row * n); }
};
#endif
} // namespace

static bool is_segmented(const VariantArgs *args) {
    return params_int(args->tunables, "segmented") == 1;
}

/* scratch null: only how much is needed, into *bytes. */
template <typename T> static cudaError_t scan(const VariantArgs *args, void *scratch, size_t *bytes) {
    Maps<T> in;
    ScanSums<T> out;
    in.view = discount_view<T>(args);
    out.y = in.view.y;
    in.order = out.order = {in.view.n, in.view.batch * in.view.n, 1.0 / (double)in.view.n, discount_is_right(args)};
#if HAS_SEGMENTED
    if (is_segmented(args)) {
        RowStart begin;
        begin.n = in.view.n;
        if (in.view.gamma_per != DISCOUNT_GAMMA_ROW) in.order.n = in.order.count; /* nobody asks for the row of an element */
        return cub::DeviceSegmentedScan::InclusiveSegmentedScan(scratch, *bytes, in, out, begin, begin + 1,
                                                                (long long)in.view.batch, ScanMerge(), (cudaStream_t)args->stream);
    }
#endif
    return cub::DeviceScan::InclusiveScan(scratch, *bytes, in, out, ScanMerge(), in.order.count, (cudaStream_t)args->stream);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (is_segmented(args) && !HAS_SEGMENTED)
        return variant_refuse(reason, "segmented=1 needs CUB 3.3 or newer; compiled with %s", CUB_TEXT);
    if (discount_terms(args) == 0) return true;
    return variant_refuse(reason, "k=%zu: sums of k terms are no scan", discount_terms(args));
}

/* Needs no device in the emulator; on a GPU CUB asks the driver, and what it cannot say it leaves at 0. */
static size_t scratch_bytes(const VariantArgs *args) {
    size_t bytes = 0;
    if (discount_is_empty(args)) return 0;
    (void)with_storage(args, [args, &bytes]<typename T>() {
        if (scan<T>(args, nullptr, &bytes) != cudaSuccess) (void)cudaGetLastError();
        return STATUS_OK;
    });
    return bytes;
}

static Status run(const VariantArgs *args) {
    size_t bytes = args->scratch_bytes;
    if (discount_is_empty(args)) return STATUS_OK;
    return with_storage(args, [args, &bytes]<typename T>() {
        TRY_CUDA(scan<T>(args, args->scratch, &bytes));
        return STATUS_OK;
    });
}

RUNGS_VARIANT(discounted_cumsum, cuda_cub_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "cub::DeviceScan of affine maps, all rows in one scan, or one for each row",
    .origin = "CUB; Blelloch 1990",
    .library = CUB_TEXT,
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
