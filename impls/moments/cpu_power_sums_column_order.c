/* Idea: the published program's second CPU loop: as cpu_power_sums_row_order, but one column after the other over the same
 *   row-major matrix. The accumulators of one column stay in registers; consecutive elements are cols elements apart.
 * Traffic: a cache line of x (16 floats) for every element, and again for each of the columns that share it, unless it stays
 *   cached from one column to the next: up to 16 times the matrix in float32.
 * Rounding: as cpu_power_sums_row_order: one chain of n additions in double, errors grow as (mean / sigma)^p. Declares the bound
 *   `power_sums`. Unstable on purpose.
 * Limits: x^4 must stay within the range of double.
 * Origin: the textbook's formulas, as in EgyipTomi425/statistics (loop order; no code). */
#include "_power_sums.h"

ALWAYS_INLINE PowerSums add_column(const MomentsJob *job, size_t c, bool f32, int powers) {
    PowerSums sums = POWER_SUMS_EMPTY;
    for (size_t r = 0; r < job->rows; r++) {
        const double w = job->weights ? moments_element(job->weights, r, f32) : 1;
        power_sums_add(&sums, moments_element(job->x, r * job->cols + c, f32), w, powers);
    }
    return sums;
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
