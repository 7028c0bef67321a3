/* Idea: every window from scratch, in one thread: the definition, written down.
 * Traffic: w reads per output from cache, O(n w) operations; a variance takes two passes over its window.
 * Rounding: serial sums in the dtype, error at most (w - 1) u sum|x|. NaN and inf stay in their windows by themselves.
 * Limits: time; agg=apply has its own variants.
 * Origin: the definition. */
#include "variant.h"

#include <math.h>

enum { MEAN, SUM, VAR, STD, MIN, MAX, APPLY };

static double sum_f64(const double *x, size_t w) {
    double sum = 0;
    for (size_t j = 0; j < w; j++) sum += x[j];
    return sum;
}

/* Corrected for the rounding of the mean, which in float32 may be as large as the spread. */
static double squares_f64(const double *x, size_t w, double mean) {
    double squares = 0, rest = 0;
    for (size_t j = 0; j < w; j++) {
        squares += (x[j] - mean) * (x[j] - mean);
        rest += x[j] - mean;
    }
    const double spread = squares - rest * (rest / (double)w);
    return spread < 0 ? 0 : spread;
}

/* A minimum or maximum that is NaN stays NaN, because no comparison with it is true. */
static double min_f64(const double *x, size_t w) {
    double least = x[0];
    for (size_t j = 1; j < w; j++)
        if (x[j] < least || isnan(x[j])) least = x[j];
    return least;
}

static double max_f64(const double *x, size_t w) {
    double most = x[0];
    for (size_t j = 1; j < w; j++)
        if (x[j] > most || isnan(x[j])) most = x[j];
    return most;
}

static double window_f64(const double *x, size_t w, int agg) {
    if (agg == MIN) return min_f64(x, w);
    if (agg == MAX) return max_f64(x, w);
    const double sum = sum_f64(x, w), mean = sum / (double)w;
    if (agg == SUM) return sum;
    if (agg == MEAN) return mean;
    const double var = squares_f64(x, w, mean) / ((double)w - 1);
    return agg == VAR ? var : sqrt(var);
}

/* The same in float; quotients and roots are taken in double and rounded once. */
static float sum_f32(const float *x, size_t w) {
    float sum = 0;
    for (size_t j = 0; j < w; j++) sum += x[j];
    return sum;
}

static float squares_f32(const float *x, size_t w, float mean) {
    float squares = 0, rest = 0;
    for (size_t j = 0; j < w; j++) {
        squares += (x[j] - mean) * (x[j] - mean);
        rest += x[j] - mean;
    }
    const float spread = squares - rest * (rest / (float)w);
    return spread < 0 ? 0 : spread;
}

static float min_f32(const float *x, size_t w) {
    float least = x[0];
    for (size_t j = 1; j < w; j++)
        if (x[j] < least || isnan(x[j])) least = x[j];
    return least;
}

static float max_f32(const float *x, size_t w) {
    float most = x[0];
    for (size_t j = 1; j < w; j++)
        if (x[j] > most || isnan(x[j])) most = x[j];
    return most;
}

static float window_f32(const float *x, size_t w, int agg) {
    if (agg == MIN) return min_f32(x, w);
    if (agg == MAX) return max_f32(x, w);
    const float sum = sum_f32(x, w), mean = (float)(sum / (double)w);
    if (agg == SUM) return sum;
    if (agg == MEAN) return mean;
    const float var = (float)(squares_f32(x, w, mean) / ((double)w - 1));
    return agg == VAR ? var : (float)sqrt((double)var);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return params_choice(&args->problem->params, "agg") == APPLY ? variant_refuse(reason, "apply has its own variants") : true;
}

static Status run(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(params, "window");
    const int agg = params_choice(params, "agg");
    const float incomplete = params_choice(params, "incomplete") == 0 ? NAN : INFINITY;
    if (args->problem->dtype == DTYPE_F64) {
        const double *x = args->in[0].data;
        double *y = args->out[0].data;
        for (size_t i = 0; i < n; i++) y[i] = i + 1 < w ? (double)incomplete : window_f64(x + (i + 1 - w), w, agg);
    } else {
        const float *x = args->in[0].data;
        float *y = args->out[0].data;
        for (size_t i = 0; i < n; i++) y[i] = i + 1 < w ? incomplete : window_f32(x + (i + 1 - w), w, agg);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_naive) = {
    .backend = BACKEND_CPU,
    .summary = "every window from scratch, one thread",
    .origin = "the definition",
    .supports = supports,
    .run = run,
};
