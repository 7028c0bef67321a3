/* Idea: four rows in one loop: while one row's product waits for its sum, three others are at work. What is left of a multiple of
 * four goes row by row.
 * Traffic: as cpu_sequential: each element once in, once out.
 * Rounding: the same operations on each row as cpu_sequential, so the same bits.
 * Limits: one thread; fewer than four rows gain nothing. Sums of k terms: as cpu_sequential.
 * Origin: torch-discounted-cumsum 1.1.0, whose C++ takes the rows of a batch four at a time. */
#include "common/discounted_cumsum/rows.h"

#define DCS_LANES 4
#define DCS_REAL double
#define DCS_NAME(word) word##_four_f64
#include "common/discounted_cumsum/rows.inc"
#undef DCS_REAL
#undef DCS_NAME
#define DCS_REAL float
#define DCS_NAME(word) word##_four_f32
#include "common/discounted_cumsum/rows.inc"
#undef DCS_LANES
#undef DCS_REAL
#undef DCS_NAME

#define DCS_LANES 1
#define DCS_REAL double
#define DCS_NAME(word) word##_one_f64
#include "common/discounted_cumsum/rows.inc"
#undef DCS_REAL
#undef DCS_NAME
#define DCS_REAL float
#define DCS_NAME(word) word##_one_f32
#include "common/discounted_cumsum/rows.inc"

typedef void (*Rows)(const DcsJob *job, size_t row);

static Status run(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    job.reset = dcs_reset(args, DCS_RESET);
    if (job.n == 0) return STATUS_OK;
    const Rows four = job.f32 ? rows_four_f32 : rows_four_f64, one = job.f32 ? rows_one_f32 : rows_one_f64;
    size_t row = 0;
    for (; row + 4 <= job.rows; row += 4) four(&job, row);
    for (; row < job.rows; row++) one(&job, row);
    return STATUS_OK;
}

RUNGS_VARIANT(discounted_cumsum, cpu_row_batched) = {
    .backend = BACKEND_CPU,
    .summary = "the recurrence over four rows at a time, one thread",
    .origin = "torch-discounted-cumsum's C++: the rows of a batch in fours",
    .supports = dcs_blocks_fit,
    .run = run,
};
