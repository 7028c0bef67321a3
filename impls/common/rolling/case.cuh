/* case.cuh - what every CUDA variant of rolling does before its kernel: read the case, refuse what it cannot do, choose
 * the kernel's template arguments.
 *
 * A variant hands rolling_dispatch a class template Kernels<T, AGG> with one static function, launch_on(args, view); the cases
 * that need no kernel of its own (n = 0, or a window longer than the array) end here. */
#ifndef RUNGS_ROLLING_CASE_CUH
#define RUNGS_ROLLING_CASE_CUH

#include "common/device_limits.cuh"
#include "common/grid.cuh"
#include "variant.h"

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

/* What every variant of this ladder must refuse; outputs_per_block decides the grid. */
static inline bool rolling_supports(const VariantArgs *args, size_t outputs_per_block, char reason[REASON_MAX]) {
    if (rolling_aggregate(args) < 0) return variant_refuse(reason, "agg=apply has its own variants");
    const size_t blocks = divide_up(rolling_length(args), outputs_per_block);
    if (blocks > GRID_BLOCKS_MAX)
        return variant_refuse(reason, "n=%zu needs %zu blocks of %zu outputs; a grid holds %zu", rolling_length(args), blocks,
                              outputs_per_block, GRID_BLOCKS_MAX);
    return true;
}

/* Does the window fit into shared memory? bytes(args, window) is what one block needs, growing with the window. */
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

template <typename T> static __global__ void rolling_fill_kernel(T *y, size_t n, T value) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = value;
}

template <template <typename, Aggregate> class Kernels, typename T> static Status rolling_dispatch_typed(const VariantArgs *args) {
    const bool infinity = strcmp(params_text(&args->problem->params, "incomplete"), "inf") == 0;
    const T incomplete = infinity ? (T)__builtin_huge_val() : (T)__builtin_nan("");
    const RollingView<T> view = {(const T *)args->in[0].data, (T *)args->out[0].data, rolling_length(args), rolling_window(args),
                                 incomplete};
    if (view.n == 0) return STATUS_OK;
    if (view.window > view.n) {
        const unsigned threads = 256;
        return launch(rolling_fill_kernel<T>, {dim3((unsigned)divide_up(view.n, threads)), dim3(threads), 0, args->stream}, view.y,
                      view.n, incomplete);
    }
    switch (rolling_aggregate(args)) {
    case AGG_MEAN:
        return Kernels<T, AGG_MEAN>::launch_on(args, view);
    case AGG_SUM:
        return Kernels<T, AGG_SUM>::launch_on(args, view);
    case AGG_VAR:
        return Kernels<T, AGG_VAR>::launch_on(args, view);
    case AGG_STD:
        return Kernels<T, AGG_STD>::launch_on(args, view);
    case AGG_MIN:
        return Kernels<T, AGG_MIN>::launch_on(args, view);
    case AGG_MAX:
        return Kernels<T, AGG_MAX>::launch_on(args, view);
    default:
        return status_fail(STATUS_UNSUPPORTED, "agg=apply has its own variants");
    }
}

template <template <typename, Aggregate> class Kernels> static Status rolling_dispatch(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? rolling_dispatch_typed<Kernels, double>(args)
                                             : rolling_dispatch_typed<Kernels, float>(args);
}

#endif
