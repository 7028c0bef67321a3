/* Idea: the published program's second CPU loop: as cpu_power_sums_row_order, but one column after the other over the same
 *   row-major matrix. The accumulators of one column stay in registers; consecutive elements are cols elements apart.
 * Traffic: a cache line of x (16 floats) for every element, and again for each of the columns that share it, unless it stays
 *   cached from one column to the next: up to 16 times the matrix in float32.
 * Rounding: as cpu_power_sums_row_order: one chain of n additions in double, errors grow as (mean / sigma)^p. Declares the bound
 *   `power_sums`. Unstable on purpose.
 * Limits: x^4 must stay within the range of double.
 * Origin: the textbook's formulas, as in EgyipTomi425/statistics (loop order; no code). */
#include "_shared.h"

/* One column's accumulators. */
typedef struct PowerSums {
    double sum[POWERS_MAX + 1]; /* of w x^p; [0]: of w */
    double min, max;
    bool nan;
} PowerSums;

static const PowerSums POWER_SUMS_EMPTY = {.min = INFINITY, .max = -INFINITY};

ALWAYS_INLINE void power_sums_add(PowerSums *self, double x, double w, int powers) {
    double product = w;
    self->sum[0] += w;
    for (int p = 1; p <= powers; p++) self->sum[p] += product *= x;
    self->min = x < self->min ? x : self->min;
    self->max = x > self->max ? x : self->max;
    self->nan |= x != x;
}

ALWAYS_INLINE PowerSums add_column(const MomentsJob *job, size_t c, bool f32, int powers) {
    PowerSums sums = POWER_SUMS_EMPTY;
    for (size_t r = 0; r < job->rows; r++) {
        const double w = job->weights ? moments_element(job->weights, r, f32) : 1;
        power_sums_add(&sums, moments_element(job->x, r * job->cols + c, f32), w, powers);
    }
    return sums;
}

/* From E[x^p] to E[(x - mean)^p]: here the digits are lost. */
static void power_sums_finish(const MomentsJob *job, size_t c, const PowerSums *self) {
    MomentsColumn column = {.mean = self->sum[1] / self->sum[0], .min = self->min, .max = self->max, .nan = self->nan};
    column.central[0] = 1;
    for (int p = 1; p <= job->powers; p++) column.central[p] = self->sum[p] / self->sum[0];
    moments_shift(column.central, -column.mean, job->powers);
    moments_finish(job, c, &column);
}

static Status run(const VariantArgs *args) {
    const MomentsJob job = moments_job(args);
    for (size_t c = 0; c < job.cols; c++) {
        PowerSums sums;
        if (job.powers == 4)
            sums = job.f32 ? add_column(&job, c, true, 4) : add_column(&job, c, false, 4);
        else
            sums = job.f32 ? add_column(&job, c, true, 6) : add_column(&job, c, false, 6);
        power_sums_finish(&job, c, &sums);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(moments, cpu_power_sums_column_order) = {
    .backend = BACKEND_CPU,
    .summary = "sums of x, x^2, x^3, x^4 in double, column by column, one thread: unstable by design",
    .origin = "EgyipTomi425/statistics, its second CPU loop; the textbook's formulas",
    .bound = "power_sums",
    .run = run,
};
