/* Idea: cub::DeviceScan::InclusiveSum: with a discount of 1 nothing is discounted, and a sum needs no maps. To the right, and of
 * f16 and bf16, which it would add up as they are, CUB reads and writes through iterators. stable: CUB adds up in an order
 * of its own choice that stays the same (cuda::execution::determinism::run_to_run), and takes memory for it from a stream-ordered
 * pool.
 * Traffic: 1 read and 1 write of n, and CUB's look-back.
 * Rounding: a tree whose shape depends on the order in which blocks finish, unless stable.
 * Limits: gamma=1 and one row, without resets and sums of k terms.
 * Origin: Merrill and Garland 2016 (decoupled look-back), in CUB. */
#include "common/cub_text.cuh"
#include "common/discounted_cumsum/case.cuh"
#include "common/scan_iterator.cuh"

#include <cub/device/device_scan.cuh>
#include <type_traits>

#if defined(CUB_VERSION) && CUB_VERSION >= 300500
#include <cuda/execution>
#include <cuda/std/functional>
#include <cuda/stream_ref>
#define HAS_STABLE true
#else
#define HAS_STABLE false
#endif

static const ParamSpec TUNABLES[] = {
    {"stable", "1: the same bits in each run (CUB 3.5 or newer); 0: CUB's usual order", PARAM_INT, "0", 0, 1, NULL},
    {0},
};

static bool is_stable(const VariantArgs *args) {
    return params_int(args->tunables, "stable") == 1;
}

namespace { /* types of this variant alone */
/* What is added, and where the sums go: from the last element on, if backward. */
template <typename T> struct Addends : ScanIterator<Addends<T>, SumOf<T>, SumOf<T>> {
    const T *x;
    size_t last;
    bool backward;
    __host__ __device__ SumOf<T> at(size_t position) const { return wide(x[backward ? last - position : position]); }
};
template <typename T> struct KeepTotal {
    T *y;
    __host__ __device__ void operator=(SumOf<T> sum) const { *y = (T)sum; }
};
template <typename T> struct Totals : ScanIterator<Totals<T>, SumOf<T>, KeepTotal<T>> {
    T *y;
    size_t last;
    bool backward;
    __host__ __device__ KeepTotal<T> at(size_t position) const { return {y + (backward ? last - position : position)}; }
};
} // namespace

/* scratch null: only how much is needed, into *bytes. */
template <typename In, typename Out>
static cudaError_t add_up(const VariantArgs *args, In in, Out out, void *scratch, size_t *bytes) {
    const size_t n = discount_n(args);
    const cudaStream_t stream = (cudaStream_t)args->stream;
#if HAS_STABLE
    if (is_stable(args)) {
        if (!scratch) return *bytes = 1, cudaSuccess; /* CUB takes its own; of none, run() would not get any */
        const auto always = cuda::execution::require(cuda::execution::determinism::run_to_run);
        return cub::DeviceScan::InclusiveScan(in, out, cuda::std::plus<>(), n,
                                              cuda::std::execution::env{cuda::stream_ref{stream}, always});
    }
#endif
    return cub::DeviceScan::InclusiveSum(scratch, *bytes, in, out, n, stream);
}

template <typename T> static cudaError_t sum(const VariantArgs *args, void *scratch, size_t *bytes) {
    const DiscountView<T> view = discount_view<T>(args);
    const bool backward = discount_is_right(args);
    if constexpr (std::is_same_v<T, SumOf<T>>) {
        if (!backward) return add_up(args, view.x, view.y, scratch, bytes);
    }
    Addends<T> in;
    Totals<T> out;
    in.x = view.x, out.y = view.y;
    in.last = out.last = view.n - 1;
    in.backward = out.backward = backward;
    return add_up(args, in, out, scratch, bytes);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const double gamma = params_real(&args->problem->params, "gamma");
    if (is_stable(args) && !HAS_STABLE)
        return variant_refuse(reason, "stable=1 needs CUB 3.5 or newer; compiled with %s", CUB_TEXT);
    if (gamma != 1 || discount_gamma_per(args) != DISCOUNT_GAMMA_ALL)
        return variant_refuse(reason, "only gamma=1 for all elements");
    if (discount_batch(args) > 1) return variant_refuse(reason, "batch=%zu: one row only", discount_batch(args));
    if (discount_has_reset(args)) return variant_refuse(reason, "no resets");
    if (discount_terms(args) == 0) return true;
    return variant_refuse(reason, "k=%zu: sums of k terms are no scan", discount_terms(args));
}

/* Needs no device in the emulator; on a GPU CUB asks the driver, and what it cannot say it leaves at 0. */
static size_t scratch_bytes(const VariantArgs *args) {
    size_t bytes = 0;
    if (discount_is_empty(args)) return 0;
    (void)with_storage(args, [args, &bytes]<typename T>() {
        if (sum<T>(args, nullptr, &bytes) != cudaSuccess) (void)cudaGetLastError();
        return STATUS_OK;
    });
    return bytes;
}

static Status run(const VariantArgs *args) {
    size_t bytes = args->scratch_bytes;
    if (discount_is_empty(args)) return STATUS_OK;
    return with_storage(args, [args, &bytes]<typename T>() {
        TRY_CUDA(sum<T>(args, args->scratch, &bytes));
        return STATUS_OK;
    });
}

RUNGS_VARIANT(discounted_cumsum, cuda_cub_sum) = {
    .backend = BACKEND_CUDA,
    .summary = "cub::DeviceScan's sum, without discounts",
    .origin = "CUB",
    .library = CUB_TEXT,
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
