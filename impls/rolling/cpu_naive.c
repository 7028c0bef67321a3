/* Idea: every window from scratch, in one thread: the definition, written down.
 * Traffic: w reads per output from cache, O(n w) operations; a variance takes two passes over its window.
 * Rounding: serial sums in the dtype, error at most (w - 1) u sum|x|. NaN and inf stay in their windows by themselves.
 * Limits: time; agg=apply has its own variants.
 * Origin: the definition. */
#include "variant.h"

#include <math.h>

enum { MEAN, SUM, VAR, STD, MIN, MAX, APPLY };

/* A minimum that is NaN stays NaN, because no comparison with it is true. */
#define DEFINE_NAIVE(REAL)                                                                                                         \
    static REAL sum_##REAL(const REAL *x, size_t w) {                                                                              \
        REAL sum = 0;                                                                                                              \
        for (size_t j = 0; j < w; j++) sum += x[j];                                                                                \
        return sum;                                                                                                                \
    }                                                                                                                              \
    static REAL mean_##REAL(const REAL *x, size_t w) {                                                                             \
        return (REAL)(sum_##REAL(x, w) / (double)w);                                                                               \
    }                                                                                                                              \
    static REAL var_##REAL(const REAL *x, size_t w) {                                                                              \
        const REAL mean = mean_##REAL(x, w);                                                                                       \
        REAL squares = 0;                                                                                                          \
        for (size_t j = 0; j < w; j++) squares += (x[j] - mean) * (x[j] - mean);                                                   \
        return (REAL)(squares / ((double)w - 1));                                                                                  \
    }                                                                                                                              \
    static REAL std_##REAL(const REAL *x, size_t w) {                                                                              \
        return (REAL)sqrt((double)var_##REAL(x, w));                                                                               \
    }                                                                                                                              \
    static REAL min_##REAL(const REAL *x, size_t w) {                                                                              \
        REAL least = x[0];                                                                                                         \
        for (size_t j = 1; j < w; j++)                                                                                             \
            if (x[j] < least || isnan(x[j])) least = x[j];                                                                         \
        return least;                                                                                                              \
    }                                                                                                                              \
    static REAL max_##REAL(const REAL *x, size_t w) {                                                                              \
        REAL most = x[0];                                                                                                          \
        for (size_t j = 1; j < w; j++)                                                                                             \
            if (x[j] > most || isnan(x[j])) most = x[j];                                                                           \
        return most;                                                                                                               \
    }                                                                                                                              \
    static void roll_##REAL(const REAL *x, size_t n, size_t w, int agg, REAL incomplete, REAL *y) {                                \
        static REAL (*const aggregates[])(const REAL *, size_t) = {[MEAN] = mean_##REAL, [SUM] = sum_##REAL, [VAR] = var_##REAL,   \
                                                                   [STD] = std_##REAL,   [MIN] = min_##REAL, [MAX] = max_##REAL};  \
        for (size_t i = 0; i < n; i++) y[i] = i + 1 < w ? incomplete : aggregates[agg](x + (i + 1 - w), w);                        \
    }

DEFINE_NAIVE(float)
DEFINE_NAIVE(double)

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return params_choice(&args->problem->params, "agg") == APPLY ? variant_refuse(reason, "apply has its own variants") : true;
}

static Status run(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(params, "window");
    const int agg = params_choice(params, "agg");
    const bool nan = params_choice(params, "incomplete") == 0;
    if (args->problem->dtype == DTYPE_F64)
        roll_double(args->in[0].data, n, w, agg, nan ? NAN : INFINITY, args->out[0].data);
    else
        roll_float(args->in[0].data, n, w, agg, nan ? NAN : INFINITY, args->out[0].data);
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_naive) = {
    .backend = BACKEND_CPU,
    .summary = "every window from scratch, one thread",
    .origin = "the definition",
    .supports = supports,
    .run = run,
};
