/* Idea: a first pass for the means, a second for sums of (x - mean)^p, corrected by the sum of the deviations: it is not 0, for
 *   the mean was rounded. Strips of 64 columns, rows in order, a vector of columns at a time, one thread.
 * Traffic: x twice, 64 columns wide: once where all rows of a strip (256 or 512 bytes each) stay cached between the passes.
 * Rounding: double for either dtype; sums of 256 rows are made separately, so that no chain is longer than 256 + n / 256. The
 *   relative error of a variance is a few units in the last place, whatever mean / sigma is.
 * Limits: powers of deviations must stay within the range of double. Narrow types are widened to float first.
 * Origin: Chan, Golub and LeVeque 1983 (the corrected two-pass algorithm), here for powers up to 6. */
#include "_shared.h"

enum { BLOCK = 256, LANES = 64 /* columns that share a block */ };

/* Of a strip of columns: sums over all rows so far, and over the present block of 256. */
typedef struct Strip {
    double total[POWERS_MAX + 1][LANES], block[POWERS_MAX + 1][LANES];
    double mean[LANES], min[LANES], max[LANES], nans[LANES];
} Strip;

ALWAYS_INLINE void mean_rows(const MomentsJob *job, Strip *restrict strip, size_t begin, size_t end, size_t first, size_t count,
                             bool f32) {
    for (size_t r = begin; r < end; r++) {
        const double w = job->weights ? moments_element(job->weights, r, f32) : 1;
        for (size_t l = 0; l < count; l++) {
            const double x = moments_element(job->x, r * job->cols + first + l, f32);
            strip->block[0][l] += w;
            strip->block[1][l] += w * x;
            strip->min[l] = x < strip->min[l] ? x : strip->min[l];
            strip->max[l] = x > strip->max[l] ? x : strip->max[l];
            strip->nans[l] += x == x ? 0 : 1;
        }
    }
}

ALWAYS_INLINE void power_rows(const MomentsJob *job, Strip *restrict strip, size_t begin, size_t end, size_t first, size_t count,
                              bool f32, int powers) {
    for (size_t r = begin; r < end; r++) {
        const double w = job->weights ? moments_element(job->weights, r, f32) : 1;
        for (size_t l = 0; l < count; l++) {
            const double d = moments_element(job->x, r * job->cols + first + l, f32) - strip->mean[l];
            double product = w;
            for (int p = 1; p <= powers; p++) strip->block[p][l] += product *= d;
        }
    }
}

/* One pass: powers = 0 for the means. */
ALWAYS_INLINE void pass(const MomentsJob *job, Strip *strip, size_t first, size_t count, bool f32, int powers) {
    for (size_t begin = 0; begin < job->rows; begin += BLOCK) {
        const size_t end = begin + BLOCK < job->rows ? begin + BLOCK : job->rows;
        if (powers == 0)
            mean_rows(job, strip, begin, end, first, count, f32);
        else
            power_rows(job, strip, begin, end, first, count, f32, powers);
        for (int p = 0; p <= POWERS_MAX; p++)
            for (size_t l = 0; l < count; l++) {
                strip->total[p][l] += strip->block[p][l];
                strip->block[p][l] = 0;
            }
    }
}

static void both_passes(const MomentsJob *job, Strip *strip, size_t first, size_t count) {
    job->f32 ? pass(job, strip, first, count, true, 0) : pass(job, strip, first, count, false, 0);
    for (size_t l = 0; l < count; l++) {
        strip->mean[l] = strip->total[1][l] / strip->total[0][l];
        strip->total[1][l] = 0;
    }
    if (job->powers == 4)
        job->f32 ? pass(job, strip, first, count, true, 4) : pass(job, strip, first, count, false, 4);
    else
        job->f32 ? pass(job, strip, first, count, true, 6) : pass(job, strip, first, count, false, 6);
}

static void finish(const MomentsJob *job, const Strip *strip, size_t first, size_t count) {
    for (size_t l = 0; l < count; l++) {
        MomentsColumn column = {.min = strip->min[l], .max = strip->max[l], .nan = strip->nans[l] > 0};
        column.central[0] = 1;
        for (int p = 1; p <= job->powers; p++) column.central[p] = strip->total[p][l] / strip->total[0][l];
        const double left = column.central[1]; /* the error of the mean */
        column.mean = strip->mean[l] + left;
        moments_shift(column.central, -left, job->powers);
        moments_finish(job, first + l, &column);
    }
}

static Status run(const VariantArgs *args) {
    const MomentsJob job = moments_widened(args);
    for (size_t first = 0; first < job.cols; first += LANES) {
        const size_t count = job.cols - first < LANES ? job.cols - first : LANES;
        Strip strip = {0};
        for (size_t l = 0; l < count; l++) {
            strip.min[l] = INFINITY;
            strip.max[l] = -INFINITY;
        }
        both_passes(&job, &strip, first, count);
        finish(&job, &strip, first, count);
    }
    return STATUS_OK;
}

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(moments, cpu_two_pass) = {
    .backend = BACKEND_CPU,
    .summary = "means, then corrected sums of (x - mean)^p; vectors across columns, one thread",
    .origin = "Chan, Golub and LeVeque 1983",
    .dtypes = MOMENTS_TYPES,
    .accumulates = ACCUMULATES,
    .scratch_bytes = moments_widened_bytes,
    .run = run,
};
