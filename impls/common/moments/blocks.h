/* blocks.h - the parts of moments/cpu_best: a block of a few rows and columns goes through the cache once, its moments are
 * joined to those of the blocks before it. */
#ifndef RUNGS_IMPLS_MOMENTS_BLOCKS_H
#define RUNGS_IMPLS_MOMENTS_BLOCKS_H

#include "common/cpu_vector.h"
#include "common/moments/cpu.h"

#include <float.h>

enum { LANES = 64, BLOCK = 64 /* rows: LANES * BLOCK doubles stay in the nearest cache or the one behind it */ };

/* How the matrix is read. One of few columns is read as one of `fold` times as many and as many fewer rows; the last of these may
 * hold only `tail` lanes. */
typedef struct Layout {
    const MomentsJob *job;
    size_t fold, lanes, rows, tail;
} Layout;

typedef struct Spot {
    size_t row, lane;
} Spot;

/* A strip of LANES columns over some rows. The mean is a pair, mean + mean_low, so that differences of large means are exact. */
typedef struct Part {
    double weight[LANES], mean[LANES], mean_low[LANES], min[LANES], max[LANES], nans[LANES];
    double sum[POWERS_MAX + 1][LANES]; /* of w (x - mean)^p; [1] is 0 but for rounding and not used */
} Part;

/* One thread's block and what is known of it. */
typedef struct Block {
    double x[BLOCK][LANES], w[BLOCK][LANES];
    Part part;
} Block;

typedef Vector_f64 Vector;
enum { WIDTH = SCAN_LANES_f64 };

ALWAYS_INLINE Vector vector_load(const double *from) {
    Vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

ALWAYS_INLINE void vector_store(double *to, Vector v) {
    memcpy(to, &v, sizeof v);
}

/* WIDTH elements as doubles. */
ALWAYS_INLINE Vector vector_elements(const void *x, size_t at, bool f32) {
    if (!f32) return vector_load((const double *)x + at);
#if defined __AVX512F__
    return (Vector)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)x + at));
#elif defined __AVX__
    return (Vector)_mm256_cvtps_pd(_mm_loadu_ps((const float *)x + at));
#else
    Vector v;
    for (size_t l = 0; l < WIDTH; l++) v[l] = ((const float *)x)[at + l];
    return v;
#endif
}

/* Asks for a strip's row, which is read next. */
ALWAYS_INLINE void strip_prefetch(const Layout *layout, Spot at, bool f32) {
    const size_t size = f32 ? sizeof(float) : sizeof(double);
    if (at.row >= layout->rows) return;
    const char *row = (const char *)layout->job->x + (at.row * layout->lanes + at.lane) * size;
    for (size_t b = 0; b < LANES * size; b += 64) __builtin_prefetch(row + b);
}

/* `rows` rows of a whole strip, row r of the block being the first: to doubles, their sums and extremes on the way. */
ALWAYS_INLINE void load_rows(const Layout *layout, Block *restrict block, size_t begin, size_t r, size_t rows, size_t first,
                             bool f32, bool weighted) {
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l += WIDTH) {
        Vector sum = vector_load(&part->mean[l]), min = vector_load(&part->min[l]), max = vector_load(&part->max[l]);
        for (size_t k = r; k < r + rows; k++) {
            const Vector x = vector_elements(layout->job->x, (begin + k) * layout->lanes + first + l, f32);
            vector_store(&block->x[k][l], x);
            sum += weighted ? vector_load(&block->w[k][l]) * x : x;
            min = vector_min_f64(x, min);
            max = vector_max_f64(x, max);
        }
        vector_store(&part->mean[l], sum);
        vector_store(&part->min[l], min);
        vector_store(&part->max[l], max);
    }
}

/* The same of a strip of fewer lanes. */
ALWAYS_INLINE void load_short_rows(const Layout *layout, Block *restrict block, size_t begin, size_t rows, size_t first,
                                   size_t count, bool f32, bool weighted) {
    Part *restrict part = &block->part;
    for (size_t r = 0; r < rows; r++)
        for (size_t l = 0; l < count; l++) {
            const double x = moments_element(layout->job->x, (begin + r) * layout->lanes + first + l, f32);
            block->x[r][l] = x;
            part->mean[l] += weighted ? block->w[r][l] * x : x;
            part->min[l] = x < part->min[l] ? x : part->min[l];
            part->max[l] = x > part->max[l] ? x : part->max[l];
        }
}

ALWAYS_INLINE void load_weights(const Layout *layout, Block *restrict block, size_t begin, size_t rows, size_t first, size_t count,
                                bool f32) {
    const size_t cols = layout->job->cols;
    for (size_t r = 0; r < rows; r++)
        for (size_t l = 0; l < count; l++) {
            const size_t row = layout->fold > 1 ? (begin + r) * layout->fold + (first + l) / cols : begin + r;
            block->w[r][l] = moments_element(layout->job->weights, row, f32);
            block->part.weight[l] += block->w[r][l];
        }
}

/* Rows begin .. begin + rows - 1, lanes first .. first + count - 1. */
ALWAYS_INLINE void block_load(const Layout *layout, Block *restrict block, size_t begin, size_t rows, size_t first, size_t count,
                              bool f32, bool weighted) {
    enum { AT_ONCE = 4 /* rows between two visits of the sums */ };
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l++) {
        part->mean[l] = part->nans[l] = 0;
        part->weight[l] = weighted ? 0 : (double)rows;
        part->min[l] = INFINITY;
        part->max[l] = -INFINITY;
    }
    if (weighted) load_weights(layout, block, begin, rows, first, count, f32);
    if (count == LANES) {
        size_t r = 0;
        for (; r + AT_ONCE <= rows; r += AT_ONCE) load_rows(layout, block, begin, r, AT_ONCE, first, f32, weighted);
        for (; r < rows; r++) load_rows(layout, block, begin, r, 1, first, f32, weighted);
    } else {
        load_short_rows(layout, block, begin, rows, first, count, f32, weighted);
    }
    for (size_t l = 0; l < LANES; l++) part->mean[l] /= part->weight[l];
}

/* Sums of the deviations' powers; the block comes from the cache. The next one, from `next` on, is asked for
 * meanwhile. */
ALWAYS_INLINE void block_powers(const Layout *layout, Block *restrict block, size_t rows, Spot next, bool f32, bool weighted,
                                int powers) {
    enum { GROUP = 2 /* vectors at a time: their sums stay in registers */ };
    for (size_t l = 0; l < LANES; l += GROUP * WIDTH) {
        Vector sum[POWERS_MAX + 1][GROUP] = {0}, mean[GROUP];
        memcpy(mean, &block->part.mean[l], sizeof mean);
        for (size_t r = 0; r < rows; r++) {
            if (l / (GROUP * WIDTH) == r % (LANES / (GROUP * WIDTH))) strip_prefetch(layout, (Spot){next.row + r, next.lane}, f32);
            for (int g = 0; g < GROUP; g++) {
                const size_t at = l + (size_t)g * WIDTH;
                const Vector d = vector_load(&block->x[r][at]) - mean[g], square = d * d;
                const Vector wd = weighted ? vector_load(&block->w[r][at]) * d : d, ws = weighted ? wd * d : square;
                sum[1][g] += wd;
                sum[2][g] += ws;
                sum[3][g] += ws * d;
                sum[4][g] += ws * square;
                if (powers > 4) sum[5][g] += (ws * square) * d;
                if (powers > 4) sum[6][g] += (ws * square) * square;
            }
        }
        for (int p = 1; p <= powers; p++) memcpy(&block->part.sum[p][l], sum[p], sizeof sum[p]);
    }
}

/* From sums about the rounded mean to sums about the mean; NaN, looked for only where the mean is not a number. */
ALWAYS_INLINE void block_settle(Block *restrict block, size_t rows, size_t count, int powers) {
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l++) {
        double s[POWERS_MAX + 1] = {part->weight[l]};
        for (int p = 1; p <= powers; p++) s[p] = part->sum[p][l];
        const double low = s[1] / s[0];
        moments_shift(s, -low, powers);
        part->mean_low[l] = low;
        for (int p = 2; p <= powers; p++) part->sum[p][l] = s[p];
    }
    for (size_t l = 0; l < count; l++)
        if (!(fabs(part->mean[l]) <= DBL_MAX)) /* an infinity may have made it so */
            for (size_t r = 0; r < rows; r++) part->nans[l] += block->x[r][l] == block->x[r][l] ? 0 : 1;
}

/* a + b = hi + low exactly. */
ALWAYS_INLINE double exact_sum(double a, double b, double *low) {
    const double sum = a + b, part = sum - a;
    *low = (a - (sum - part)) + (b - part);
    return sum;
}

/* Lane l of left becomes that and lane m of right. */
ALWAYS_INLINE void part_join(Part *left, size_t l, const Part *right, size_t m, int powers) {
    double a[POWERS_MAX + 1] = {left->weight[l]}, b[POWERS_MAX + 1] = {right->weight[m]};
    for (int p = 2; p <= powers; p++) a[p] = left->sum[p][l], b[p] = right->sum[p][m];
    const double weight = a[0] + b[0];
    const double delta = (right->mean[m] - left->mean[l]) + (right->mean_low[m] - left->mean_low[l]);
    const double step = delta * (b[0] / weight);
    moments_shift(a, -step, powers);
    moments_shift(b, delta - step, powers);
    for (int p = 2; p <= powers; p++) left->sum[p][l] = a[p] + b[p];
    double rest, low;
    const double mean = exact_sum(left->mean[l], step, &rest);
    left->mean[l] = exact_sum(mean, rest + left->mean_low[l], &low);
    left->mean_low[l] = low;
    left->weight[l] = weight;
    left->min[l] = right->min[m] < left->min[l] ? right->min[m] : left->min[l];
    left->max[l] = right->max[m] > left->max[l] ? right->max[m] : left->max[l];
    left->nans[l] += right->nans[m];
}

#endif
