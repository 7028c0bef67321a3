/* Idea: every window from scratch, in one thread: the definition, written down.
 * Traffic: w reads per output from cache, O(n w) operations; a variance takes two passes over its window.
 * Rounding: serial sums in the dtype (f16 and bf16: in float; else as `accumulate` says), error at most (w - 1) u sum|x|. NaN and inf stay in their windows by themselves.
 * Limits: time; agg=apply has its own variants.
 * Origin: the definition. */
#include "base/numbers.h"
#include "variant.h"

#include <math.h>

enum { MEAN, SUM, VAR, STD, MIN, MAX, APPLY };

/* In float, quotients and roots are taken in double and rounded once. */
#define DEFINE_WINDOWS(T, suffix)                                                                                                  \
    static T sum_##suffix(const T *x, size_t w) {                                                                                  \
        T sum = 0;                                                                                                                 \
        for (size_t j = 0; j < w; j++) sum += x[j];                                                                                \
        return sum;                                                                                                                \
    }                                                                                                                              \
    /* Corrected for the rounding of the mean, which in float32 may be as large as the spread. */                                  \
    static T squares_##suffix(const T *x, size_t w, T mean) {                                                                      \
        T squares = 0, rest = 0;                                                                                                   \
        for (size_t j = 0; j < w; j++) {                                                                                           \
            squares += (x[j] - mean) * (x[j] - mean);                                                                              \
            rest += x[j] - mean;                                                                                                   \
        }                                                                                                                          \
        const T spread = squares - rest * (rest / (T)w);                                                                           \
        return spread < 0 ? 0 : spread;                                                                                            \
    }                                                                                                                              \
    /* A minimum or maximum that is NaN stays NaN, because no comparison with it is true. */                                       \
    static T min_##suffix(const T *x, size_t w) {                                                                                  \
        T least = x[0];                                                                                                            \
        for (size_t j = 1; j < w; j++)                                                                                             \
            if (x[j] < least || isnan(x[j])) least = x[j];                                                                         \
        return least;                                                                                                              \
    }                                                                                                                              \
    static T max_##suffix(const T *x, size_t w) {                                                                                  \
        T most = x[0];                                                                                                             \
        for (size_t j = 1; j < w; j++)                                                                                             \
            if (x[j] > most || isnan(x[j])) most = x[j];                                                                           \
        return most;                                                                                                               \
    }                                                                                                                              \
    static T window_##suffix(const T *x, size_t w, int agg) {                                                                      \
        if (agg == MIN) return min_##suffix(x, w);                                                                                 \
        if (agg == MAX) return max_##suffix(x, w);                                                                                 \
        const T sum = sum_##suffix(x, w), mean = (T)(sum / (double)w);                                                             \
        if (agg == SUM) return sum;                                                                                                \
        if (agg == MEAN) return mean;                                                                                              \
        const T var = (T)(squares_##suffix(x, w, mean) / ((double)w - 1));                                                         \
        return agg == VAR ? var : (T)sqrt((double)var);                                                                            \
    }
DEFINE_WINDOWS(double, f64)
DEFINE_WINDOWS(float, f32)

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return params_choice(&args->problem->params, "agg") == APPLY ? variant_refuse(reason, "apply has its own variants") : true;
}

/* The elements in the type of sums, where they are of another. */
static size_t scratch_bytes(const VariantArgs *args) {
    const DType sums = case_sums(args->problem);
    return sums != args->problem->dtype ? array_count(&args->in[0]) * dtype_size(sums) : 0;
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

static Status run(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(params, "window");
    const int agg = params_choice(params, "agg");
    const float incomplete = params_choice(params, "incomplete") == 0 ? NAN : INFINITY;
    const DType dtype = args->problem->dtype, sums = case_sums(args->problem);
    const void *x = args->in[0].data;
    for (size_t i = 0; sums != dtype && i < n; i++) number_set(sums, args->scratch, i, number_in(dtype, x, i));
    if (sums != dtype) x = args->scratch;
    for (size_t i = 0; i < n; i++) {
        const size_t from = i + 1 - w;
        const double value = i + 1 < w           ? (double)incomplete
                             : sums == DTYPE_F64 ? window_f64((const double *)x + from, w, agg)
                                                 : window_f32((const float *)x + from, w, agg);
        if (dtype == DTYPE_F64)
            ((double *)args->out[0].data)[i] = value;
        else if (dtype == DTYPE_F32)
            ((float *)args->out[0].data)[i] = (float)value;
        else
            number_set(dtype, args->out[0].data, i, value);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_naive) = {
    .backend = BACKEND_CPU,
    .summary = "every window from scratch, one thread",
    .origin = "the definition",
    .dtypes = DTYPES,
    .accumulates = ACCUMULATES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
