/* _shared.cuh - what the CUDA variants of moments share: the case as kernels see it, the central moments of a part of a column and
 * the merge of two parts (Pebay), and the outputs of a finished column. */
#pragma once

#include "common/device_limits.cuh"
#include "common/grid.cuh"
#include "common/narrow.cuh"

#include <cuda_fp8.h>
#include <string.h>

enum MomentsOutput { OUT_MEAN, OUT_VAR, OUT_SKEWNESS, OUT_KURTOSIS, OUT_MIN, OUT_MAX, OUT_M5, OUT_M6, OUT_COUNT };
__host__ __device__ constexpr int output_of_order(int p) {
    return p == 3 ? OUT_SKEWNESS : p == 4 ? OUT_KURTOSIS : p == 5 ? OUT_M5 : OUT_M6;
}

/* What is not x: of x's type, beside x of 8 bits in float. */
template <typename T> struct Beside { using Type = T; };
template <> struct Beside<__nv_fp8_e4m3> { using Type = float; };
template <> struct Beside<__nv_fp8_e5m2> { using Type = float; };
template <typename T> using OtherOf = typename Beside<T>::Type;

static __host__ __device__ inline float wide(__nv_fp8_e4m3 x) {
    return (float)x;
}
static __host__ __device__ inline float wide(__nv_fp8_e5m2 x) {
    return (float)x;
}

template <typename T> struct MomentsView {
    const T *x;                /* [rows, cols] */
    const OtherOf<T> *weights; /* [rows]; not to be read if the case has none */
    OtherOf<T> *out[OUT_COUNT];
    size_t rows, cols;
    int order;        /* highest order among the outputs: 4 to 6 */
    bool zero_spread; /* skewness and higher of a column without variance: 0, else NaN */
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
                           (const OtherOf<T> *)args->in[1].data,
                           {},
                           moments_rows(args),
                           moments_cols(args),
                           moments_order(args),
                           strcmp(params_text(&args->problem->params, "degenerate"), "zero") == 0};
    for (int i = 0; i < OUT_COUNT; i++) view.out[i] = (OtherOf<T> *)args->out[i].data;
    return view;
}

/* Tunable: the precision of all sums. Float64 data are always summed in double. */
static const char *const ACCUMULATE_CHOICES[] = {"data", "f64", NULL};
#define ACCUMULATE_TUNABLE(fallback)                                                                                               \
    { "accumulate", "precision of all sums: that of the data, or double", PARAM_CHOICE, fallback, 0, 0, ACCUMULATE_CHOICES }
static inline bool moments_in_double(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 || strcmp(params_text(args->tunables, "accumulate"), "f64") == 0;
}

/* What call.operator()<T, A>() returns: T is the dtype of the data, A that of the sums. */
template <typename Call> static auto moments_with_types(const VariantArgs *args, Call call) {
    if (args->problem->dtype == DTYPE_F64) return call.template operator()<double, double>();
    return moments_in_double(args) ? call.template operator()<float, double>() : call.template operator()<float, float>();
}
/* call.operator()<T>() for the dtypes of NARROW_TYPES; of others for float. */
template <typename Call> static auto moments_with_narrow(const VariantArgs *args, Call call) {
    switch (args->problem->dtype) {
    case DTYPE_F16:
        return call.template operator()<__half>();
    case DTYPE_BF16:
        return call.template operator()<__nv_bfloat16>();
    case DTYPE_E4M3:
        return call.template operator()<__nv_fp8_e4m3>();
    case DTYPE_E5M2:
        return call.template operator()<__nv_fp8_e5m2>();
    default:
        return call.template operator()<float>();
    }
}
static const DType MOMENTS_TYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2, DTYPE_COUNT};

/* What call.operator()<T, A, ORDER, WEIGHTED>() returns. Order 5 is computed as 6. */
template <typename T, typename A, typename Call> static auto moments_with_order(const VariantArgs *args, Call call) {
    const bool weighted = moments_weighted(args);
    if (moments_order(args) > 4)
        return weighted ? call.template operator()<T, A, 6, true>() : call.template operator()<T, A, 6, false>();
    return weighted ? call.template operator()<T, A, 4, true>() : call.template operator()<T, A, 4, false>();
}
template <typename Call> static auto moments_with_case(const VariantArgs *args, Call call) {
    return moments_with_types(args, [args, call]<typename T, typename A>() { return moments_with_order<T, A>(args, call); });
}

/* Smallest and largest value of a part; both NaN if it holds a NaN. */
template <typename T> struct Range {
    T low = (T)__builtin_huge_val(), high = -(T)__builtin_huge_val();
    __device__ void merge(const Range &b) {
        if (b.low < low || b.low != b.low) low = b.low;
        if (b.high > high || b.high != b.high) high = b.high;
    }
};

/* The range while values arrive. min() and max() drop a NaN, so a flag remembers it. */
template <typename T> struct Extremes {
    Range<T> range;
    bool nan = false;

    __device__ void push(T x) {
        range.low = min(range.low, x);
        range.high = max(range.high, x);
        nan = nan || x != x;
    }
    __device__ Range<T> done() const { return nan ? Range<T>{(T)__builtin_nan(""), (T)__builtin_nan("")} : range; }
};

__host__ __device__ constexpr double binomial(int n, int k) {
    double value = 1;
    for (int i = 1; i <= k; i++) value = value * (n - k + i) / i;
    return value;
}

/* sums[p] = sum w (x - c)^p for p = 0..ORDER becomes the sum about c + h: the binomial theorem, in place. */
template <int ORDER, typename A> __device__ void moments_shift(A *sums, A minus_h) {
#pragma unroll
    for (int first = 1; first <= ORDER; first++) {
#pragma unroll
        for (int p = ORDER; p >= first; p--) sums[p] += minus_h * sums[p - 1];
    }
}

/* Central moments of a part of a column, and Pebay's formulas for joining two parts, for weights and any order.
 *
 * With the weights a and b of parts A and B and d = meanB - meanA, A's mean moves by e = d b / (a + b) and B's by
 * g = d a / (a + b):
 *     M_p = A_p + B_p + t Q_(p-2) + sum over k from 1 to p-2 of C(p,k) ((-e)^k A_(p-k) + g^k B_(p-k))
 *     t = b d g,  Q_m = sum over i from 0 to m of g^(m-i) (-e)^i
 * t Q_(p-2) equals a (-e)^p + b g^p, but does not cancel. A single value is a part whose moments are 0. */
template <typename A, int ORDER> struct Central {
    A weight = 0, mean = 0;
    A m[ORDER - 1] = {}; /* m[p - 2] = sum w (x - mean)^p for p = 2..ORDER */

    /* From sums[p] = sum w (x - center)^p, p = 1..ORDER. Overwrites sums. */
    static __device__ Central about(A center, A weight, A *sums) {
        Central part;
        if (weight == 0) return part;
        const A moved = sums[1] / weight;
        sums[0] = weight;
        moments_shift<ORDER>(sums, -moved);
        part.weight = weight;
        part.mean = center + moved;
#pragma unroll
        for (int p = 2; p <= ORDER; p++) part.m[p - 2] = sums[p];
        return part;
    }

    /* Adds a part whose mean is d away. ONE_VALUE: the part is one value, other_m may be NULL. share_own and share_other: the
     * parts' shares of the joint weight. The caller updates weight. */
    template <bool ONE_VALUE> __device__ void join(A d, A other_weight, A share_own, A share_other, const A *other_m) {
        const A e = d * share_other, g = ONE_VALUE ? d - e : d * share_own, t = other_weight * d * g;
        A e_power[ORDER - 1], g_power[ORDER - 1], q[ORDER - 1];
        e_power[0] = g_power[0] = q[0] = 1;
#pragma unroll
        for (int k = 1; k <= ORDER - 2; k++) {
            e_power[k] = -e * e_power[k - 1];
            g_power[k] = g * g_power[k - 1];
            q[k] = g * q[k - 1] + e_power[k];
        }
#pragma unroll
        for (int p = ORDER; p >= 2; p--) { /* downwards: each order needs the old values of the lower ones */
            A sum = t * q[p - 2];
#pragma unroll
            for (int k = 1; k <= p - 2; k++) {
                sum += (A)binomial(p, k) * e_power[k] * m[p - k - 2];
                if (!ONE_VALUE) sum += (A)binomial(p, k) * g_power[k] * other_m[p - k - 2];
            }
            m[p - 2] += ONE_VALUE ? sum : sum + other_m[p - 2];
        }
        mean += e;
    }
    __device__ void merge(const Central &b) {
        if (b.weight == 0) return;
        if (weight == 0) {
            *this = b;
            return;
        }
        const A joint = weight + b.weight, inverse = 1 / joint;
        join<false>(b.mean - mean, b.weight, weight * inverse, b.weight * inverse, b.m);
        weight = joint;
    }
};

/* Central moments of a part whose mean is center + moments.mean. Centers are of the data's type: the difference of two that are
 * close is exact, however far they are from zero. Of parts that were merged it is the mean, rounded: a value that lies far out
 * would leave the mean its own rounding. */
template <typename T, typename A, int ORDER> struct CentralPartial {
    T center = 0;
    Central<A, ORDER> moments;
    Range<T> range;
    __device__ void merge(const CentralPartial &b) {
        range.merge(b.range);
        if (moments.weight == 0) center = b.center;
        Central<A, ORDER> other = b.moments;
        other.mean += (A)b.center - (A)center;
        moments.merge(other);
        const A from = (A)center, by = moments.mean;
        center = (T)(from + by);
        const A to = (A)center, moved = to - from;
        moments.mean = (from - (to - moved)) + (by - moved); /* what the rounding has left, exactly (Knuth's two-sum) */
    }
};

/* A power of two that brings distances within a column near 1, so that their powers neither overflow nor underflow. */
template <typename A, typename T> static __device__ A distance_scale(Range<T> range) {
    constexpr int MOST = sizeof(A) == sizeof(float) ? 120 : 1000;
    const double spread = 0.5 * (double)range.high - 0.5 * (double)range.low;
    if (!(spread > 0 && spread < __builtin_huge_val())) return 1;
    const int exponent = ilogb(spread);
    return (A)ldexp(1.0, exponent > MOST ? -MOST : exponent < -MOST ? MOST : -exponent);
}

/* Writes all outputs of column c from its central moments, whose distances are in multiples of `unit`. The extremes decide the
 * special cases: a NaN makes all outputs NaN, an infinity leaves mean, min and max, a constant column has that mean and var = 0. */
template <typename T, int ORDER>
static __device__ void moments_write(const MomentsView<T> &view, size_t c, const Central<double, ORDER> &all, Range<SumOf<T>> range,
                                     double unit = 1) {
    using S = SumOf<T>;
    using Out = OtherOf<T>;
    const double nan = __builtin_nan(""), infinity = __builtin_huge_val();
    S low = range.low, high = range.high;
    const bool constant = low == high;
    double mean = all.mean, var = constant ? 0 : all.m[0] / all.weight;
    if (constant) mean = (double)low;
    if (view.rows == 0 || low != low) {
        mean = var = nan;
        low = high = (S)nan;
    } else if (low == -(S)infinity || high == (S)infinity) {
        var = nan;
        mean = low != -(S)infinity ? infinity : high != (S)infinity ? -infinity : nan;
    }
    view.out[OUT_MEAN][c] = (Out)mean;
    view.out[OUT_VAR][c] = (Out)(var * unit * unit);
    view.out[OUT_MIN][c] = (Out)low;
    view.out[OUT_MAX][c] = (Out)high;
    const double degenerate = view.zero_spread ? 0 : nan, sigma = sqrt(var);
    double scale = all.weight * var; /* sum of weights times sigma^p */
#pragma unroll
    for (int p = 3; p <= ORDER; p++) {
        scale *= sigma;
        if (p > view.order) break;
        view.out[output_of_order(p)][c] = (Out)(var == 0 ? degenerate : all.m[p - 2] / scale);
    }
}

/* The same from a CentralPartial. In double, whatever the sums are in: m3 / var^1.5 of large numbers overflows a float. */
template <typename T, typename A, int ORDER>
static __device__ void central_write(const MomentsView<T> &view, size_t c, const CentralPartial<SumOf<T>, A, ORDER> &all) {
    Central<double, ORDER> wide;
    wide.weight = (double)all.moments.weight;
    wide.mean = (double)all.center + (double)all.moments.mean;
#pragma unroll
    for (int p = 0; p < ORDER - 1; p++) wide.m[p] = (double)all.moments.m[p];
    moments_write(view, c, wide, all.range);
}
