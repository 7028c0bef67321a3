/* case.cuh - what the CUDA variants of moments share on the host: the case as kernels see it, the choice of the kernel's
 * template arguments, and what ends in every variant's kernel, the outputs of one column. */
#ifndef RUNGS_MOMENTS_CASE_CUH
#define RUNGS_MOMENTS_CASE_CUH

#include "common/device_limits.cuh"
#include "common/grid.cuh"
#include "common/moments/central.cuh"
#include "variant.h"

#include <string.h>

enum MomentsOutput { OUT_MEAN, OUT_VAR, OUT_SKEWNESS, OUT_KURTOSIS, OUT_MIN, OUT_MAX, OUT_M5, OUT_M6, OUT_COUNT };
__host__ __device__ constexpr int output_of_order(int p) {
    return p == 3 ? OUT_SKEWNESS : p == 4 ? OUT_KURTOSIS : p == 5 ? OUT_M5 : OUT_M6;
}

template <typename T> struct MomentsView {
    const T *x;       /* [rows, cols] */
    const T *weights; /* [rows], or not to be read */
    T *out[OUT_COUNT];
    size_t rows, cols;
    int order;        /* of the outputs wanted: 4 to 6 */
    bool zero_spread; /* skewness and so on of a column without variance: 0, not NaN */
};

static inline size_t moments_rows(const VariantArgs *args) {
    return (size_t)params_int(&args->problem->params, "rows");
}
static inline size_t moments_cols(const VariantArgs *args) {
    return (size_t)params_int(&args->problem->params, "cols");
}
static inline int moments_order(const VariantArgs *args) {
    return (int)params_int(&args->problem->params, "order");
}
static inline bool moments_weighted(const VariantArgs *args) {
    return strcmp(params_text(&args->problem->params, "weights"), "row") == 0;
}

template <typename T> static MomentsView<T> moments_view(const VariantArgs *args) {
    MomentsView<T> view = {(const T *)args->in[0].data,
                           (const T *)args->in[1].data,
                           {},
                           moments_rows(args),
                           moments_cols(args),
                           moments_order(args),
                           strcmp(params_text(&args->problem->params, "degenerate"), "zero") == 0};
    for (int i = 0; i < OUT_COUNT; i++) view.out[i] = (T *)args->out[i].data;
    return view;
}

/* Tunable of every variant: the precision of sums. */
static const char *const ACCUMULATE_CHOICES[] = {"data", "f64", NULL};
#define ACCUMULATE_TUNABLE(fallback)                                                                                               \
    { "accumulate", "precision of all sums: that of the data, or double", PARAM_CHOICE, fallback, 0, 0, ACCUMULATE_CHOICES }

/* call.operator()<K>() for K = Kernels<T, A, ORDER, WEIGHTED>, A being the type of sums. Order 5 is computed as 6. */
template <template <typename, typename, int, bool> class Kernels, typename T, typename A, typename Call>
static auto moments_dispatch_order(const VariantArgs *args, Call call) {
    if (moments_order(args) > 4)
        return moments_weighted(args) ? call.template operator()<Kernels<T, A, 6, true>>()
                                      : call.template operator()<Kernels<T, A, 6, false>>();
    return moments_weighted(args) ? call.template operator()<Kernels<T, A, 4, true>>()
                                  : call.template operator()<Kernels<T, A, 4, false>>();
}
template <template <typename, typename, int, bool> class Kernels, typename Call>
static auto moments_dispatch(const VariantArgs *args, Call call) {
    if (args->problem->dtype == DTYPE_F64) return moments_dispatch_order<Kernels, double, double>(args, call);
    const bool in_double = strcmp(params_text(args->tunables, "accumulate"), "f64") == 0;
    return in_double ? moments_dispatch_order<Kernels, float, double>(args, call)
                     : moments_dispatch_order<Kernels, float, float>(args, call);
}

/* All outputs of column c from its central sums, of distances in `unit`s. Extremes decide what arithmetic could not: a NaN shows
 * everywhere, infinities leave a mean only, a column of one value has that mean and no variance. */
template <typename T, int ORDER>
static __device__ void moments_write(const MomentsView<T> &view, size_t c, const Central<double, ORDER> &all, Range<T> range,
                                     double unit = 1) {
    const double nan = __builtin_nan(""), infinity = __builtin_huge_val();
    T low = range.low, high = range.high;
    const bool constant = low == high;
    double mean = all.mean, var = constant ? 0 : all.m[0] / all.weight;
    if (constant) mean = (double)low;
    if (view.rows == 0 || low != low) {
        mean = var = nan;
        low = high = (T)nan;
    } else if (low == -(T)infinity || high == (T)infinity) {
        var = nan;
        mean = low != -(T)infinity ? infinity : high != (T)infinity ? -infinity : nan;
    }
    view.out[OUT_MEAN][c] = (T)mean;
    view.out[OUT_VAR][c] = (T)(var * unit * unit);
    view.out[OUT_MIN][c] = low;
    view.out[OUT_MAX][c] = high;
    const double degenerate = view.zero_spread ? 0 : nan, sigma = sqrt(var);
    double scale = all.weight * var; /* sum of weights times sigma^p */
#pragma unroll
    for (int p = 3; p <= ORDER; p++) {
        scale *= sigma;
        if (p > view.order) break;
        view.out[output_of_order(p)][c] = (T)(var == 0 ? degenerate : all.m[p - 2] / scale);
    }
}

#endif
