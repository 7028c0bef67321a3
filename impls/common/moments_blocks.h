/* moments_blocks.h - the parts of moments/cpu_best: a block of a few rows and columns goes through the cache once, its moments are
 * joined to those of the blocks before it. */
#ifndef RUNGS_IMPLS_MOMENTS_BLOCKS_H
#define RUNGS_IMPLS_MOMENTS_BLOCKS_H

#include "common/moments_cpu.h"

#include <float.h>
#include <string.h>

enum { LANES = 64, BLOCK = 64 /* rows: LANES * BLOCK doubles stay in the nearest cache or the one behind it */ };

/* How the matrix is read. One of few columns is read as one of `fold` times as many and as many fewer rows; the last of these may
 * hold only `tail` lanes. */
typedef struct Layout {
    const MomentsJob *job;
    size_t fold, lanes, rows, tail;
} Layout;

/* A strip of LANES columns over some rows. The mean is a pair, hi + lo, so that differences of large means are exact enough. */
typedef struct Part {
    double weight[LANES], mean[LANES], mean_low[LANES], min[LANES], max[LANES], nans[LANES];
    double sum[POWERS_MAX + 1][LANES]; /* of w (x - mean)^p; [1] is 0 but for rounding and not used */
} Part;

/* One thread's block and what is known of it. */
typedef struct Block {
    double x[BLOCK][LANES], w[BLOCK][LANES];
    Part part;
} Block;

/* Rows begin .. begin + rows - 1, lanes first .. first + count - 1, as doubles; sums and extremes on the way. */
ALWAYS_INLINE void block_load(const Layout *layout, Block *restrict block, size_t begin, size_t rows, size_t first, size_t count,
                              bool f32, bool weighted) {
    const MomentsJob *job = layout->job;
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l++) {
        part->mean[l] = part->nans[l] = 0;
        part->weight[l] = weighted ? 0 : (double)rows;
        part->min[l] = INFINITY;
        part->max[l] = -INFINITY;
    }
    for (size_t r = 0; r < rows; r++) {
        if (weighted)
            for (size_t l = 0; l < count; l++) {
                const size_t row = (begin + r) * layout->fold + (layout->fold > 1 ? (first + l) / job->cols : 0);
                block->w[r][l] = moments_element(job->weights, row, f32);
                part->weight[l] += block->w[r][l];
            }
        for (size_t l = 0; l < count; l++) {
            const double x = moments_element(job->x, (begin + r) * layout->lanes + first + l, f32);
            block->x[r][l] = x;
            part->mean[l] += weighted ? block->w[r][l] * x : x;
            part->min[l] = x < part->min[l] ? x : part->min[l];
            part->max[l] = x > part->max[l] ? x : part->max[l];
        }
    }
    for (size_t l = 0; l < count; l++) part->mean[l] /= part->weight[l];
}

typedef double Vector __attribute__((vector_size(64)));
enum { WIDTH = sizeof(Vector) / sizeof(double), GROUP = 2 /* vectors at a time: their sums stay in registers */ };

/* Sums of the deviations' powers; the block comes from the cache. */
ALWAYS_INLINE void block_powers(Block *restrict block, size_t rows, bool weighted, int powers) {
    for (size_t l = 0; l < LANES; l += GROUP * WIDTH) {
        Vector sum[POWERS_MAX + 1][GROUP] = {0}, mean[GROUP];
        memcpy(mean, &block->part.mean[l], sizeof mean);
        for (size_t r = 0; r < rows; r++)
            for (int g = 0; g < GROUP; g++) {
                Vector x, w;
                memcpy(&x, &block->x[r][l + (size_t)g * WIDTH], sizeof x);
                if (weighted) memcpy(&w, &block->w[r][l + (size_t)g * WIDTH], sizeof w);
                const Vector d = x - mean[g], square = d * d, wd = weighted ? w * d : d, ws = weighted ? wd * d : square;
                sum[1][g] += wd;
                sum[2][g] += ws;
                sum[3][g] += ws * d;
                sum[4][g] += ws * square;
                if (powers > 4) sum[5][g] += (ws * square) * d;
                if (powers > 4) sum[6][g] += (ws * square) * square;
            }
        for (int p = 1; p <= powers; p++) memcpy(&block->part.sum[p][l], sum[p], sizeof sum[p]);
    }
}

/* From sums about the rounded mean to sums about the mean; NaN, looked for only where the mean is not a number. */
ALWAYS_INLINE void block_settle(Block *restrict block, size_t rows, size_t count, int powers) {
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l++) {
        const double low = part->sum[1][l] / part->weight[l];
        part->mean_low[l] = low;
        for (int p = powers; p >= 2; p--) {
            double sum = part->weight[l];
            for (int k = 1; k <= p; k++) sum = MOMENTS_BINOMIAL[p][k] * part->sum[k][l] - sum * low;
            part->sum[p][l] = sum;
        }
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

/* sum[p] of lane l about its mean - h. */
ALWAYS_INLINE double part_about(const Part *part, size_t l, double h, int p) {
    double sum = part->weight[l] * h;
    for (int k = 2; k <= p; k++) sum = sum * h + MOMENTS_BINOMIAL[p][k] * part->sum[k][l];
    return sum;
}

/* Lane l of left becomes that and lane m of right. */
ALWAYS_INLINE void part_join(Part *left, size_t l, const Part *right, size_t m, int powers) {
    const double weight = left->weight[l] + right->weight[m], share = right->weight[m] / weight;
    const double delta = (right->mean[m] - left->mean[l]) + (right->mean_low[m] - left->mean_low[l]), step = delta * share;
    for (int p = powers; p >= 2; p--) left->sum[p][l] = part_about(left, l, -step, p) + part_about(right, m, delta - step, p);
    double rest;
    const double mean = exact_sum(left->mean[l], step, &rest);
    left->mean[l] = exact_sum(mean, rest + left->mean_low[l], &left->mean_low[l]);
    left->weight[l] = weight;
    left->min[l] = right->min[m] < left->min[l] ? right->min[m] : left->min[l];
    left->max[l] = right->max[m] > left->max[l] ? right->max[m] : left->max[l];
    left->nans[l] += right->nans[m];
}

#endif
