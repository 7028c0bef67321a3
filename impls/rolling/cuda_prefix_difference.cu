/* Idea: prefix sums P of the whole array, once; then out[i] = (P[i] - P[i-w]) / w. var and std from prefix sums of x and x^2.
 * Traffic: scan: n reads, n writes; difference: 2n reads (the second is an L2 hit for w up to a few million), n writes; the scan
 *   twice for var and std. Independent of w.
 * Rounding: the numerically worst: every output carries the error of everything before it, and after one inf or NaN all are NaN.
 *   Hence the bound "prefix".
 * Limits: no min and max: they have no difference.
 * Origin: the "accumulation array" remark of the Numba CUDA + cuDF tutorial; the scan is CUB's. */
#include "_shared.cuh"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

enum { THREADS = 256 };

struct Square {
    template <typename T> __host__ __device__ T operator()(T x) const { return x * x; }
};

template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(THREADS) difference_kernel(RollingView<T> view, const T *sums, const T *squares) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, w = view.window;
    if (i >= view.n) return;
    if (i + 1 < w) {
        view.y[i] = view.incomplete;
        return;
    }
    const T width = (T)w, sum = sums[i] - (i >= w ? sums[i - w] : 0);
    T result = AGG == AGG_SUM ? sum : sum / width;
    if constexpr (aggregate_is_spread(AGG)) {
        const T square = squares[i] - (i >= w ? squares[i - w] : 0);
        const T variance = w == 1 ? (T)__builtin_nan("") : (square - sum * (sum / width)) / (width - 1);
        result = AGG == AGG_VAR ? variance : sqrt(variance);
    }
    view.y[i] = result;
}

/* Prefix sums of x, or of x^2. With temporary = NULL it only says how many bytes CUB needs. */
template <typename T>
static cudaError_t scan(void *temporary, size_t *bytes, const VariantArgs *args, const T *x, T *sums, bool squared) {
    const size_t n = rolling_length(args);
    const cudaStream_t stream = (cudaStream_t)args->stream;
    if (squared)
        return cub::DeviceScan::InclusiveSum(temporary, *bytes, thrust::make_transform_iterator(x, Square()), sums, n, stream);
    return cub::DeviceScan::InclusiveSum(temporary, *bytes, x, sums, n, stream);
}

/* Scratch: prefix sums of x, those of x^2 for var and std, CUB's own; each part begins at a multiple of 256 bytes. */
static size_t part_bytes(const VariantArgs *args) {
    return divide_up(array_bytes(&args->in[0]), 256) * 256;
}

static size_t parts(const VariantArgs *args) {
    return aggregate_is_spread((Aggregate)rolling_aggregate(args)) ? 2 : 1;
}

template <typename T> static size_t temporary_bytes(const VariantArgs *args) {
    size_t plain = 0, squared = 0;
    if (scan<T>(NULL, &plain, args, NULL, NULL, false) != cudaSuccess) plain = 0;
    if (scan<T>(NULL, &squared, args, NULL, NULL, true) != cudaSuccess) squared = 0;
    return plain > squared ? plain : squared;
}

static size_t scratch_bytes(const VariantArgs *args) {
    return parts(args) * part_bytes(args) +
           (args->problem->dtype == DTYPE_F64 ? temporary_bytes<double>(args) : temporary_bytes<float>(args));
}

template <typename T, Aggregate AGG> static Status scan_and_subtract(const VariantArgs *args, RollingView<T> view) {
    unsigned char *memory = (unsigned char *)args->scratch;
    T *sums = (T *)memory, *squares = aggregate_is_spread(AGG) ? (T *)(memory + part_bytes(args)) : NULL;
    void *temporary = memory + parts(args) * part_bytes(args);
    size_t bytes = args->scratch_bytes - parts(args) * part_bytes(args);
    TRY_CUDA(scan(temporary, &bytes, args, view.x, sums, false));
    if (squares) TRY_CUDA(scan(temporary, &bytes, args, view.x, squares, true));
    const unsigned blocks = (unsigned)divide_up(view.n, THREADS);
    return launch(difference_kernel<T, AGG>, {dim3(blocks), dim3(THREADS), 0, args->stream}, view, (const T *)sums,
                  (const T *)squares);
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        if constexpr (!aggregate_is_extreme(AGG))
            return scan_and_subtract<T, AGG>(args, view);
        else
            return status_fail(STATUS_UNSUPPORTED, "supports() refuses this aggregate");
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const int agg = rolling_aggregate(args);
    if (agg == AGG_MIN || agg == AGG_MAX)
        return variant_refuse(reason, "agg=%s has no inverse: prefixes cannot be subtracted", agg == AGG_MIN ? "min" : "max");
    return rolling_supports(args, THREADS, reason);
}

RUNGS_VARIANT(rolling, cuda_prefix_difference) = {
    .backend = BACKEND_CUDA,
    .summary = "one prefix sum of the array, then differences w apart",
    .origin = "the tutorial's accumulation array; scan by CUB",
    .bound = "prefix",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
