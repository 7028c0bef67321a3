/* _best_short.h - short windows, w <= 64: doubling. Part of _best_f32.c and _best_f64.c, which say what `real` and its vectors are.
 *
 * level[j] of power 2^k covers the 2^k elements that end at j; the next level joins level[j - 2^k] and level[j]. The binary digits
 * of w say which levels make up the window. Every step is one loop over a block in the first-level cache, without a dependency.
 * Every function is inlined into one copy per ScanKind, so that inside the loops `kind` is a constant. */
#pragma once

#define BEST_ALIGNED __attribute__((aligned(64)))

/* An extreme that is NaN stays NaN. */
ALWAYS_INLINE double extreme_of(ScanKind kind, double a, double b) {
    if (isnan(a)) return a;
    return (kind == SCAN_MIN ? a < b : a > b) ? a : b;
}

/* The same without care for NaN, as vector instructions do it. */
ALWAYS_INLINE real join(ScanKind kind, real a, real b) {
    if (kind == SCAN_MIN) return a < b ? a : b;
    if (kind == SCAN_MAX) return a > b ? a : b;
    return a + b;
}

ALWAYS_INLINE Vector vector_load(const real *from) {
    Vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

ALWAYS_INLINE void vector_store(real *to, Vector v) {
    memcpy(to, &v, sizeof v);
}

ALWAYS_INLINE void take_roots(real *y, size_t count) { /* up to a whole vector */
    for (size_t k = 0; k < count; k += LANES) vector_store(y + k, VECTOR_SQRT(vector_load(y + k)));
}

enum { BLOCK = BEST_BLOCK_BYTES / sizeof(real), ROOM = BLOCK + BEST_SMALL };

/* Two levels (present and next) and the result, each with a second row for sums of squares. */
typedef struct ShortWork {
    real level[2][2][ROOM] BEST_ALIGNED;
    real whole[2][ROOM] BEST_ALIGNED;
} ShortWork;

/* out[j] = the `old` elements before, at[j - new], joined to the `new` elements that end at j. */
ALWAYS_INLINE void short_step(ScanKind kind, size_t begin, size_t end, size_t old_count, size_t new_count,
                              real *const restrict old[2], real *const restrict new[2], real *const restrict out[2]) {
    const real *restrict a = old[0], *restrict b = new[0], *restrict aa = old[1], *restrict bb = new[1];
    real *restrict c = out[0], *restrict cc = out[1];
    const real share = (real)((double)old_count / (double)(old_count + new_count));
    const real weight = (real)((double)old_count * (double)new_count / (double)(old_count + new_count));
#pragma omp simd
    for (size_t j = begin; j < end; j++) {
        if (kind == SCAN_MOMENTS) {
            const real delta = a[j - new_count] - b[j];
            c[j] = b[j] + delta * share;
            cc[j] = (aa[j - new_count] + bb[j]) + delta * delta * weight;
        } else {
            c[j] = join(kind, a[j - new_count], b[j]);
        }
    }
}

/* A block that holds a NaN, for which join() is not good enough: every window by itself. */
static inline void short_extremes_with_nan(ScanKind kind, const real *x, size_t w, size_t count, real *y) {
    for (size_t i = 0; i < count; i++) {
        double extreme = (double)x[i];
        for (size_t j = 1; j < w; j++) extreme = extreme_of(kind, extreme, (double)x[i + j]);
        y[i] = (real)extreme;
    }
}

/* Reductions to outputs. Adding mean - mean makes a variance with an infinity in its window NaN. */
ALWAYS_INLINE void short_finish(const BestJob *job, ScanKind kind, size_t count, const real *restrict a, const real *restrict aa,
                                real *restrict y) {
    const real factor = (real)(kind == SCAN_MOMENTS ? 1 / ((double)job->w - 1) : 1 / (double)job->w);
    if (kind == SCAN_MOMENTS) {
#pragma omp simd
        for (size_t j = 0; j < count; j++) y[j] = (aa[j] + (a[j] - a[j])) * factor;
        if (job->agg == BEST_STD) take_roots(y, count);
    } else if (job->agg == BEST_MEAN) {
#pragma omp simd
        for (size_t j = 0; j < count; j++) y[j] = a[j] * factor;
    } else {
        memcpy(y, a, count * sizeof *y);
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
    memcpy(work->level[0][0], x, end * sizeof *x);
    if (kind == SCAN_MOMENTS) memset(work->level[0][1], 0, end * sizeof *x);
    real *level[2] = {work->level[0][0], work->level[0][1]}, *next[2] = {work->level[1][0], work->level[1][1]};
    real *whole[2] = {work->whole[0], work->whole[1]};
    size_t have = 0;
    for (size_t power = 1; power <= w; power *= 2) {
        if (w & power) {
            if (have == 0) {
                memcpy(whole[0], level[0], end * sizeof *x);
                if (kind == SCAN_MOMENTS) memcpy(whole[1], level[1], end * sizeof *x);
            } else {
                real *joined[2] = {next[0], next[1]};
                short_step(kind, have + power - 1, end, power, have, level, whole, joined);
                for (int row = 0; row < 2; row++) {
                    next[row] = whole[row];
                    whole[row] = joined[row];
                }
            }
            have += power;
        }
        if (2 * power > w) break;
        short_step(kind, 2 * power - 1, end, power, power, level, level, next);
        for (int row = 0; row < 2; row++) {
            real *swap = level[row];
            level[row] = next[row];
            next[row] = swap;
        }
    }
    short_finish(job, kind, count, whole[0] + (w - 1), whole[1] + (w - 1), next[0]);
    scan_store(y, next[0], count * sizeof *y, job->past_caches);
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
