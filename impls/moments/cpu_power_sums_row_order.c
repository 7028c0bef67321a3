/* Idea: the published program's first CPU loop. One thread passes over the matrix row by row and keeps, for every column, the
 *   sums of x, x^2, x^3, x^4 and the extremes; the central moments come from the sums at the end.
 * Traffic: x once, in memory order; for every row the accumulators of all columns, 80 bytes each, read and written: 40 KiB at
 *   512 columns, more than most L1 caches.
 * Rounding: one chain of n additions in double for either dtype. E[x^2] - E[x]^2 and the higher moments cancel, so errors grow
 *   as (mean / sigma)^p: declares the bound `power_sums`. Unstable on purpose.
 * Limits: x^4 must stay within the range of double.
 * Origin: the textbook's formulas, as in EgyipTomi425/statistics (loop order; no code). */
#include "_power_sums.h"

ALWAYS_INLINE void add_rows(const MomentsJob *job, PowerSums *sums, bool f32, int powers) {
    for (size_t r = 0; r < job->rows; r++) {
        const double w = job->weights ? moments_element(job->weights, r, f32) : 1;
        for (size_t c = 0; c < job->cols; c++) power_sums_add(&sums[c], moments_element(job->x, r * job->cols + c, f32), w, powers);
    }
}

static Status run(const VariantArgs *args) {
    const MomentsJob job = moments_job(args);
    PowerSums *sums = args->scratch;
    for (size_t c = 0; c < job.cols; c++) sums[c] = POWER_SUMS_EMPTY;
    if (job.powers == 4)
        job.f32 ? add_rows(&job, sums, true, 4) : add_rows(&job, sums, false, 4);
    else
        job.f32 ? add_rows(&job, sums, true, 6) : add_rows(&job, sums, false, 6);
    for (size_t c = 0; c < job.cols; c++) power_sums_finish(&job, c, &sums[c]);
    return STATUS_OK;
}

static size_t scratch_bytes(const VariantArgs *args) {
    return (size_t)params_int(&args->problem->params, "cols") * sizeof(PowerSums);
}

RUNGS_VARIANT(moments, cpu_power_sums_row_order) = {
    .backend = BACKEND_CPU,
    .summary = "sums of x, x^2, x^3, x^4 in double, row by row, one thread: unstable by design",
    .origin = "EgyipTomi425/statistics, its first CPU loop; the textbook's formulas",
    .bound = "power_sums",
    .scratch_bytes = scratch_bytes,
    .run = run,
};
