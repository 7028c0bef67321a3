/* _shared.h - what the CPU variants of moments share: the case as they see it, and the outputs of a finished column. */
#pragma once

#include "base/numbers.h"
#include "variant.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef ALWAYS_INLINE
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#endif

enum { MOMENTS_MEAN, MOMENTS_VAR, MOMENTS_SKEWNESS, MOMENTS_KURTOSIS, MOMENTS_MIN, MOMENTS_MAX, MOMENTS_M5, MOMENTS_M6 };
enum { POWERS_MAX = 6 };

typedef struct MomentsJob {
    const void *x;       /* [rows, cols] */
    const void *weights; /* [rows]; NULL: all 1 */
    bool f32;
    size_t rows, cols;
    int order;         /* highest order among the outputs: 4 to 6 */
    int powers;        /* powers that are summed: 4 or 6 */
    double degenerate; /* skewness and higher of a constant column */
    Array *out;
} MomentsJob;

static inline MomentsJob moments_job(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    const int order = (int)params_int(params, "order");
    return (MomentsJob){.x = args->in[0].data,
                        .weights = params_choice(params, "weights") == 1 ? args->in[1].data : NULL,
                        .f32 = args->problem->dtype == DTYPE_F32,
                        .rows = (size_t)params_int(params, "rows"),
                        .cols = (size_t)params_int(params, "cols"),
                        .order = order,
                        .powers = order > 4 ? 6 : 4,
                        .degenerate = params_choice(params, "degenerate") == 1 ? 0 : NAN,
                        .out = args->out};
}

/* Of narrow types: x and the weights as floats in args->scratch, which the job then has. */
static inline size_t moments_widened_bytes(const VariantArgs *args) {
    return dtype_is_narrow(args->problem->dtype) ? sizeof(float) * (array_count(&args->in[0]) + array_count(&args->in[1])) : 0;
}
static inline MomentsJob moments_widened(const VariantArgs *args) {
    MomentsJob job = moments_job(args);
    if (!dtype_is_narrow(args->problem->dtype)) return job;
    const size_t n = array_count(&args->in[0]), weights = array_count(&args->in[1]);
    float *x = args->scratch;
    for (size_t i = 0; i < n; i++) x[i] = (float)number_at(&args->in[0], i);
    for (size_t i = 0; i < weights; i++) x[n + i] = (float)number_at(&args->in[1], i);
    job.f32 = true;
    job.x = x;
    if (job.weights) job.weights = x + n;
    return job;
}
static const DType MOMENTS_TYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2, DTYPE_COUNT};

ALWAYS_INLINE double moments_element(const void *x, size_t i, bool f32) {
    return f32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* From sums of powers about one point to those about that point - h, in place: s[0] is the weight, s[1] the sum of deviations.
 * Written out, so that the compiler vectorises loops over columns. */
ALWAYS_INLINE void moments_shift(double *s, double h, int powers) {
    if (powers > 4) {
        s[6] += h * (6 * s[5] + h * (15 * s[4] + h * (20 * s[3] + h * (15 * s[2] + h * (6 * s[1] + h * s[0])))));
        s[5] += h * (5 * s[4] + h * (10 * s[3] + h * (10 * s[2] + h * (5 * s[1] + h * s[0]))));
    }
    s[4] += h * (4 * s[3] + h * (6 * s[2] + h * (4 * s[1] + h * s[0])));
    s[3] += h * (3 * s[2] + h * (3 * s[1] + h * s[0]));
    s[2] += h * (2 * s[1] + h * s[0]);
    s[1] += h * s[0];
}

/* The result for one column. nan: the column holds a NaN; then the other fields are not used. */
typedef struct MomentsColumn {
    double mean, min, max;
    double central[POWERS_MAX + 1]; /* [2 .. powers]: mean of ((x - mean) / 2^exponent)^p */
    bool nan;
    int exponent;
} MomentsColumn;

/* Where powers of distances leave the range of double, over- or underflow: from two more passes over the column, with distances in
 * multiples of a power of two that brings them near 1. */
static inline void moments_mend_range(const MomentsJob *job, size_t c, MomentsColumn *column) {
    enum { IN_RANGE = 150 /* sixth powers of 2^+-150 */ };
    const double spread = 0.5 * column->max - 0.5 * column->min;
    if (column->nan || !(spread > 0 && spread <= DBL_MAX) || abs(ilogb(spread)) <= IN_RANGE) return;
    column->exponent = ilogb(spread) < -1000 ? -1000 : ilogb(spread);
    const double scale = ldexp(1, -column->exponent), low = column->min * scale;
    double s[POWERS_MAX + 1], mean = 0;
    for (int pass = 0; pass < 2; pass++) {
        memset(s, 0, sizeof s);
        for (size_t row = 0; row < job->rows; row++) {
            const double w = job->weights ? moments_element(job->weights, row, job->f32) : 1;
            const double d = moments_element(job->x, row * job->cols + c, job->f32) * scale - low - mean;
            double term = w;
            s[0] += w;
            for (int p = 1; p <= (pass ? job->powers : 1); p++) s[p] += term *= d;
        }
        if (pass == 0) mean = s[1] / s[0];
    }
    const double weight = s[0], left = s[1] / weight;
    moments_shift(s, -left, job->powers);
    column->mean = column->min + ldexp(mean + left, column->exponent);
    for (int p = 2; p <= job->powers; p++) column->central[p] = s[p] / weight;
}

static inline void moments_put(const MomentsJob *job, int output, size_t c, double value) {
    number_put(&job->out[output], c, value);
}

/* Writes the outputs of column c, with the special cases: NaN, infinities, constant columns. */
static inline void moments_finish(const MomentsJob *job, size_t c, const MomentsColumn *column) {
    static const int outputs[] = {[3] = MOMENTS_SKEWNESS, [4] = MOMENTS_KURTOSIS, [5] = MOMENTS_M5, [6] = MOMENTS_M6};
    const bool nan = column->nan || job->rows == 0, low = column->min == -INFINITY, high = column->max == INFINITY;
    const bool constant = column->min == column->max;
    double mean = column->mean, var = column->central[2];
    if (constant) mean = column->min, var = 0;
    if (low || high) mean = low && high ? NAN : low ? -INFINITY : INFINITY, var = NAN;
    if (nan) mean = var = NAN;
    moments_put(job, MOMENTS_MEAN, c, mean);
    moments_put(job, MOMENTS_VAR, c, ldexp(var, 2 * column->exponent));
    moments_put(job, MOMENTS_MIN, c, nan ? NAN : column->min);
    moments_put(job, MOMENTS_MAX, c, nan ? NAN : column->max);
    const double deviation = sqrt(var);
    double divisor = deviation * deviation;
    for (int p = 3; p <= job->order; p++) {
        divisor *= deviation;
        const double value = constant && !nan && !low && !high ? job->degenerate : column->central[p] / divisor;
        moments_put(job, outputs[p], c, isnan(var) ? NAN : value);
    }
}
