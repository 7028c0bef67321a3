/* _best_short.h - short windows, each from all of its elements, a vector of outputs at a time. Part of _best_f32.c and _best_f64.c,
 * which say what `real` and its vectors are.
 *
 * Every function is inlined into one copy per ScanKind, so that inside the loops `kind` is a constant. */
#pragma once

#define BEST_ALIGNED __attribute__((aligned(64)))

/* An extreme that is NaN stays NaN. */
ALWAYS_INLINE double extreme_of(ScanKind kind, double a, double b) {
    if (isnan(a)) return a;
    return (kind == SCAN_MIN ? a < b : a > b) ? a : b;
}

ALWAYS_INLINE Vector vector_join(ScanKind kind, Vector a, Vector b) {
    if (kind == SCAN_MIN) return VECTOR_MIN(a, b);
    if (kind == SCAN_MAX) return VECTOR_MAX(a, b);
    return a + b;
}

ALWAYS_INLINE Vector none_of(ScanKind kind) {
    return (Vector){0} + (kind == SCAN_MIN ? (real)INFINITY : kind == SCAN_MAX ? (real)-INFINITY : 0);
}

/* NaN stays. */
ALWAYS_INLINE Vector not_negative(Vector v) {
    return (Vector)((Lanes)v & ~(v < 0));
}

ALWAYS_INLINE Vector vector_load(const real *from) {
    Vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

ALWAYS_INLINE void vector_store(real *to, Vector v) {
    memcpy(to, &v, sizeof v);
}

enum {
    BLOCK = BEST_BLOCK_BYTES / sizeof(real),
    SIDE = 4,
    STEP = SIDE * LANES /* outputs side by side */,
    SHORT = BEST_SHORT_BYTES / sizeof(real)
};

typedef struct ShortWork {
    real x[BLOCK + SHORT + 2 * STEP] BEST_ALIGNED; /* the last elements of a series, of which whole steps read more */
    real parts[BLOCK + SHORT + STEP] BEST_ALIGNED, y[BLOCK] BEST_ALIGNED;
} ShortWork;

/* Adds to m2, of STEP windows, the sums of squares about the means; x: the first element of the first. Distances are from the mean
 * of up to eight elements in a window's middle: the subtraction loses a factor of 1 + w / 8 at most, whatever the data. */
ALWAYS_INLINE void short_squares(size_t w, const real *x, Vector *m2) {
    Vector center[SIDE], sum[SIDE];
    size_t many = 8;
    while (many > w) many /= 2;
    for (int v = 0; v < SIDE; v++) center[v] = sum[v] = (Vector){0};
    for (const real *from = x + (w - many) / 2, *end = from + many; from < end; from++)
        for (int v = 0; v < SIDE; v++) center[v] += vector_load(from + v * LANES) * (1 / (real)many);
    for (size_t j = 0; j < w; j++)
        for (int v = 0; v < SIDE; v++) {
            const Vector apart = vector_load(x + j + v * LANES) - center[v];
            sum[v] += apart;
            m2[v] += apart * apart;
        }
    for (int v = 0; v < SIDE; v++) m2[v] = not_negative(m2[v] - sum[v] * sum[v] * (real)(1 / (double)w));
}

/* Joins to `all` the `count` elements that lie `stride` apart, of STEP neighbours each. */
ALWAYS_INLINE void short_join(ScanKind kind, const real *from, size_t count, size_t stride, Vector *all) {
    for (const real *end = from + count * stride; from < end; from += stride)
        for (int v = 0; v < SIDE; v++) all[v] = vector_join(kind, all[v], vector_load(from + v * LANES));
}

/* All windows of a block, in whole steps. Sums and extremes of a quarter of a window are kept: four windows use them. */
ALWAYS_INLINE void short_outputs(const BestJob *job, ScanKind kind, const real *x, size_t count, ShortWork *work) {
    const size_t w = job->w, part = kind == SCAN_MOMENTS || w < 8 ? 0 : w / 4;
    const double divisor = kind == SCAN_MOMENTS ? (double)w - 1 : job->agg == BEST_MEAN ? (double)w : 1;
    for (size_t k = 0; part > 0 && k < count + 3 * part; k += STEP) {
        Vector all[SIDE];
        for (int v = 0; v < SIDE; v++) all[v] = none_of(kind);
        short_join(kind, x + k, part, 1, all);
        for (int v = 0; v < SIDE; v++) vector_store(work->parts + k + v * LANES, all[v]);
    }
    for (size_t k = 0; k < count; k += STEP) {
        Vector all[SIDE];
        for (int v = 0; v < SIDE; v++) all[v] = none_of(kind);
        if (kind == SCAN_MOMENTS) {
            short_squares(w, x + k, all);
        } else {
            short_join(kind, x + k + 4 * part, w - 4 * part, 1, all);
            short_join(kind, work->parts + k, 4, part, all);
        }
        for (int v = 0; v < SIDE; v++) {
            if (kind == SCAN_SUM || kind == SCAN_MOMENTS) all[v] *= (real)(1 / divisor);
            vector_store(work->y + k + v * LANES, job->agg == BEST_STD ? VECTOR_SQRT(all[v]) : all[v]);
        }
    }
}

/* A block that holds a NaN, which vector instructions lose: every window by itself. */
static inline void short_extremes_with_nan(ScanKind kind, const real *x, size_t w, size_t count, real *y) {
    for (size_t i = 0; i < count; i++) {
        double extreme = (double)x[i];
        for (size_t j = 1; j < w; j++) extreme = extreme_of(kind, extreme, (double)x[i + j]);
        y[i] = (real)extreme;
    }
}

/* Outputs first .. first + count - 1, all with full windows. */
ALWAYS_INLINE void short_block(const BestJob *job, ScanKind kind, size_t first, size_t count, ShortWork *work) {
    const size_t w = job->w, end = count + w - 1;
    const real *x = (const real *)job->x + (first + 1 - w);
    real *y = (real *)job->y + first;
    if (kind == SCAN_MIN || kind == SCAN_MAX) {
        int unordered = 0;
        for (size_t j = 0; j < end; j++) unordered |= x[j] != x[j];
        if (unordered) {
            short_extremes_with_nan(kind, x, w, count, y);
            return;
        }
    }
    if (first + count + 2 * STEP > job->n) {
        memcpy(work->x, x, end * sizeof *x);
        memset(work->x + end, 0, sizeof work->x - end * sizeof *x);
        x = work->x;
    }
    short_outputs(job, kind, x, count, work);
    scan_store(y, work->y, count * sizeof *y, job->past_caches);
}

ALWAYS_INLINE void short_share(const BestJob *job, ScanKind kind) {
    ShortWork work;
#pragma omp for schedule(static)
    for (size_t b = (job->w - 1) / BLOCK; b <= (job->n - 1) / BLOCK; b++) {
        const size_t first = b * BLOCK < job->w - 1 ? job->w - 1 : b * BLOCK, end = (b + 1) * BLOCK;
        short_block(job, kind, first, (end < job->n ? end : job->n) - first, &work);
    }
    scan_store_fence();
}

static inline void short_windows(const BestJob *job) {
    if (job->kind == SCAN_SUM) short_share(job, SCAN_SUM);
    if (job->kind == SCAN_MOMENTS) short_share(job, SCAN_MOMENTS);
    if (job->kind == SCAN_MIN) short_share(job, SCAN_MIN);
    if (job->kind == SCAN_MAX) short_share(job, SCAN_MAX);
}
