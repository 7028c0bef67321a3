/* _shared.cuh - what the CUDA variants of rolling share: how they read the case, what all of them refuse, and the aggregate of a
 * run of elements, which grows by an element (push) or by the adjacent run (merge). The kernels are in the variants. */
#pragma once

#include "common/device_limits.cuh"
#include "common/grid.cuh"
#include "common/narrow.cuh"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum Aggregate { AGG_MEAN, AGG_SUM, AGG_VAR, AGG_STD, AGG_MIN, AGG_MAX };

__host__ __device__ constexpr bool aggregate_is_spread(Aggregate agg) {
    return agg == AGG_VAR || agg == AGG_STD;
}
__host__ __device__ constexpr bool aggregate_is_extreme(Aggregate agg) {
    return agg == AGG_MIN || agg == AGG_MAX;
}

/* The case as kernels see it. */
template <typename T> struct RollingView {
    const T *x;
    T *y;
    size_t n, window;
    T incomplete; /* the output where the window begins before the array: NaN or inf */
    bool packed;  /* x and y begin at multiples of 16 bytes */
};

static inline size_t rolling_length(const VariantArgs *args) {
    return array_count(&args->in[0]);
}
static inline size_t rolling_window(const VariantArgs *args) {
    return (size_t)params_int(&args->problem->params, "window");
}
/* Index into Aggregate, or -1 for apply. */
static inline int rolling_aggregate(const VariantArgs *args) {
    static const char *const NAMES[] = {"mean", "sum", "var", "std", "min", "max"};
    const char *name = params_text(&args->problem->params, "agg");
    for (int i = 0; i < 6; i++)
        if (strcmp(name, NAMES[i]) == 0) return i;
    return -1;
}
template <typename T> static RollingView<T> rolling_view(const VariantArgs *args) {
    const bool infinity = strcmp(params_text(&args->problem->params, "incomplete"), "inf") == 0;
    const T incomplete = (T)(float)(infinity ? __builtin_huge_val() : __builtin_nan(""));
    const T *x = (const T *)args->in[0].data;
    T *y = (T *)args->out[0].data;
    return {x, y, rolling_length(args), rolling_window(args), incomplete, ((uintptr_t)x | (uintptr_t)y) % 16 == 0};
}

/* What every variant must refuse. outputs_per_block decides the grid. */
static inline bool rolling_supports(const VariantArgs *args, size_t outputs_per_block, char reason[REASON_MAX]) {
    if (rolling_aggregate(args) < 0) return variant_refuse(reason, "agg=apply has its own variants");
    const size_t blocks = divide_up(rolling_length(args), outputs_per_block);
    if (blocks > GRID_BLOCKS_MAX)
        return variant_refuse(reason, "n=%zu needs %zu blocks of %zu outputs; a grid holds %zu", rolling_length(args), blocks,
                              outputs_per_block, GRID_BLOCKS_MAX);
    return true;
}

/* Does the window fit into shared memory? bytes(args, window) is what one block needs; it grows with the window. */
static inline bool rolling_fits_shared(const VariantArgs *args, size_t (*bytes)(const VariantArgs *, size_t), const char *shape,
                                       char reason[REASON_MAX]) {
    const size_t window = rolling_window(args), most = device_block_shared_max();
    if (window > rolling_length(args) || bytes(args, window) <= most) return true;
    size_t fits = 0, too_large = window; /* the largest window that fits, by bisection */
    while (too_large - fits > 1) {
        const size_t middle = fits + (too_large - fits) / 2;
        *(bytes(args, middle) <= most ? &fits : &too_large) = middle;
    }
    if (fits == 0)
        return variant_refuse(reason, "%s need more than the %zu bytes of shared memory of a block, whatever the window", shape,
                              most);
    return variant_refuse(reason, "window=%zu with %s needs %zu bytes of shared memory, a block has %zu: the largest window is %zu",
                          window, shape, bytes(args, window), most, fits);
}

/* Of variants whose threads have `tile` consecutive outputs each. */
static inline size_t rolling_tile_outputs(const VariantArgs *args) {
    return (size_t)tunable_threads(args) * tunable_tile(args);
}
static inline bool rolling_tile_supports(const VariantArgs *args, size_t (*bytes)(const VariantArgs *, size_t),
                                         char reason[REASON_MAX]) {
    char shape[64];
    snprintf(shape, sizeof shape, "%u threads x %u outputs", tunable_threads(args), tunable_tile(args));
    return rolling_supports(args, rolling_tile_outputs(args), reason) && rolling_fits_shared(args, bytes, shape, reason);
}
/* Shared memory of a block that stages its inputs. */
static inline size_t rolling_tile_bytes(const VariantArgs *args, size_t window) {
    return (rolling_tile_outputs(args) + window - 1) * dtype_size(args->problem->dtype);
}

/* The outputs of a case without a complete window (n = 0 or w > n), for which no variant launches its own kernel. */
template <typename T> static __global__ void rolling_fill_kernel(T *y, size_t n, T value) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = value;
}
template <typename T> static Status rolling_fill(const VariantArgs *args, RollingView<T> view) {
    const unsigned threads = 256;
    if (view.n == 0) return STATUS_OK;
    return launch(rolling_fill_kernel<T>, {dim3((unsigned)divide_up(view.n, threads)), dim3(threads), 0, args->stream}, view.y,
                  view.n, view.incomplete);
}

/* run() of a variant: call.operator()<T, AGG>(view) for the dtype and the aggregate of the case, which it launches its kernel for.
 */
template <typename T, typename Call> static Status rolling_run_typed(const VariantArgs *args, Call call) {
    const RollingView<T> view = rolling_view<T>(args);
    if (view.window > view.n) return rolling_fill(args, view);
    switch (rolling_aggregate(args)) {
    case AGG_MEAN:
        return call.template operator()<T, AGG_MEAN>(view);
    case AGG_SUM:
        return call.template operator()<T, AGG_SUM>(view);
    case AGG_VAR:
        return call.template operator()<T, AGG_VAR>(view);
    case AGG_STD:
        return call.template operator()<T, AGG_STD>(view);
    case AGG_MIN:
        return call.template operator()<T, AGG_MIN>(view);
    default:
        return call.template operator()<T, AGG_MAX>(view);
    }
}
template <typename Call> static Status rolling_run(const VariantArgs *args, Call call) {
    return args->problem->dtype == DTYPE_F64 ? rolling_run_typed<double>(args, call) : rolling_run_typed<float>(args, call);
}
/* The same of a variant that takes f16 and bf16, too. */
template <typename Call> static Status rolling_run_stored(const VariantArgs *args, Call call) {
    return with_storage(args, [args, &call]<typename T>() { return rolling_run_typed<T>(args, call); });
}

/* The aggregates. A value-initialised object stands for an empty run. None subtracts what it has added, so an inf or NaN shows in
 * the result exactly if it is in the run. collect() takes a run that is in memory; finish() makes the output of a whole window. */
template <typename T> struct Sum {
    T sum = 0;
    __device__ void push(T x) { sum += x; }
    __device__ void merge(const Sum &other) { sum += other.sum; }
    template <typename From> __device__ static Sum collect(const From *from, size_t count) {
        Sum all;
        for (size_t k = 0; k < count; k++) all.push(wide(*from++));
        return all;
    }
    template <Aggregate AGG> __device__ T finish(T window) const { return AGG == AGG_MEAN ? sum / window : sum; }
};

/* NaN wins over every number, as in the definition; fmin would drop it. */
template <typename T, bool IS_MIN> struct Extreme {
    T value = IS_MIN ? (T)__builtin_huge_val() : -(T)__builtin_huge_val();
    __device__ void push(T x) {
        if ((IS_MIN ? x < value : x > value) || x != x) value = x;
    }
    __device__ void merge(const Extreme &other) { push(other.value); }
    template <typename From> __device__ static Extreme collect(const From *from, size_t count) {
        Extreme all;
        for (size_t k = 0; k < count; k++) all.push(wide(*from++));
        return all;
    }
    template <Aggregate AGG> __device__ T finish(T) const { return value; }
};

/* Count, mean and sum of squared deviations from it: Welford's push, Chan's merge. The count is a T: with the loops unrolled it and
 * its reciprocals are constants. A first inf makes m2 = inf - inf = NaN, and NaN it stays. */
template <typename T> struct Moments {
    T count = 0, mean = 0, m2 = 0;
    __device__ void push(T x) {
        count += 1;
        const T delta = x - mean;
        mean += delta * (1 / count);
        m2 += delta * (x - mean);
    }
    /* Either side may be empty: then its share is 0, and delta * 0 * delta cannot overflow as delta * delta would. */
    __device__ void merge(const Moments &other) {
        const T total = count + other.count;
        const T share = total > 0 ? other.count / total : 0;
        const T delta = other.mean - mean;
        mean += delta * share;
        m2 += other.m2 + delta * (count * share) * delta;
        count = total;
    }
    /* Two passes: first the mean, then squares about it, corrected for the rounding of the mean. */
    template <typename From> __device__ static Moments collect(const From *from, size_t count) {
        if (count == 0) return {};
        const From *const begin = from;
        T sum = 0, squares = 0, rest = 0;
        for (size_t k = 0; k < count; k++) sum += wide(*from++);
        const T total = (T)count, mean = sum / total;
        from = begin;
        for (size_t k = 0; k < count; k++) {
            const T delta = wide(*from++) - mean;
            squares += delta * delta;
            rest += delta;
        }
        const T m2 = squares - rest * (rest / total);
        return {total, mean + rest / total, m2 < 0 ? 0 : m2};
    }
    /* The spread of one element is undefined: 0 / 0. */
    template <Aggregate AGG> __device__ T finish(T window) const {
        const T variance = m2 / (window - 1);
        return AGG == AGG_VAR ? variance : sqrt(variance);
    }
};

template <typename T, Aggregate AGG> struct AccumulatorOf { using Type = Sum<T>; };
template <typename T> struct AccumulatorOf<T, AGG_VAR> { using Type = Moments<T>; };
template <typename T> struct AccumulatorOf<T, AGG_STD> { using Type = Moments<T>; };
template <typename T> struct AccumulatorOf<T, AGG_MIN> { using Type = Extreme<T, true>; };
template <typename T> struct AccumulatorOf<T, AGG_MAX> { using Type = Extreme<T, false>; };
template <typename T, Aggregate AGG> using Accumulator = typename AccumulatorOf<T, AGG>::Type;
