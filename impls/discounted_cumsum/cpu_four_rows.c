/* Idea: four rows in one loop, each along its memory: while one row's product waits for its sum, three others are at work, and
 * every cache line is used at once, which the published loop over columns does not do. What is left of a multiple of four goes row
 * by row.
 * Traffic: as cpu_sequential: each element once in, once out.
 * Rounding: the same operations on each row as cpu_sequential, so the same bits.
 * Limits: one thread; fewer than four rows gain nothing. Sums of k terms: as cpu_sequential.
 * Origin: cpu_row_batched, with the loops exchanged. */
#include "discounted_cumsum/_shared.h"

enum { ROWS = 4 };

DCS_DEFINE_ROWS(float, f32, ROWS)
DCS_DEFINE_ROWS(double, f64, ROWS)

static Status run(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    job.reset = dcs_reset(args, DCS_RESET);
    if (job.n == 0) return STATUS_OK;
    if (job.k > 0) {
        for (size_t row = 0; row < job.rows; row++)
            for (size_t block = 0; block < job.n; block += job.k) dcs_window_block(&job, row, block);
        return STATUS_OK;
    }
    const size_t whole = job.rows - job.rows % ROWS;
    for (size_t row = 0; row < whole; row += ROWS) {
        if (job.f32)
            rows_f32(&job, row, ROWS);
        else
            rows_f64(&job, row, ROWS);
    }
    for (size_t row = whole; row < job.rows; row++) {
        if (job.f32)
            rows_f32(&job, row, 1);
        else
            rows_f64(&job, row, 1);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(discounted_cumsum, cpu_four_rows) = {
    .backend = BACKEND_CPU,
    .summary = "the recurrence over four rows at a time, each along its memory, one thread",
    .origin = "torch-discounted-cumsum's C++, with its loops exchanged",
    .supports = dcs_blocks_fit,
    .run = run,
};
