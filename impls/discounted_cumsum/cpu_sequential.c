/* Idea: y[i] = x[i] + gamma y[i+1] (left: y[i-1]), one row after the other, one thread, one loop. Sums of k terms: blocks of k, a
 * window is the head of one and the tail of another.
 * Traffic: each element is read and written once; k > 0 reads it twice and writes it twice, a block apart.
 * Rounding: in the dtype, two roundings per step. k > 0: a tail is weighted by a product of at most k gammas, and added up in double;
 *   nothing is subtracted.
 * Limits: each step waits for the one before it. A float sum of a million like terms is off by a hundredth, which fails.
 *   Sums of k terms: |gamma|^(k-1) within the range of the dtype.
 * Origin: the C++ of torch-discounted-cumsum 1.1.0, which is the recurrence; windows: van Herk (1992). */
#include "common/discounted_cumsum/rows.h"

#define DCS_LANES 1
#define DCS_REAL double
#define DCS_NAME(word) word##_f64
#include "common/discounted_cumsum/rows.inc"
#undef DCS_REAL
#undef DCS_NAME
#define DCS_REAL float
#define DCS_NAME(word) word##_f32
#include "common/discounted_cumsum/rows.inc"

static Status run(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    job.reset = dcs_reset(args, DCS_RESET);
    for (size_t row = 0; row < job.rows && job.n > 0; row++) {
        if (job.f32)
            rows_f32(&job, row);
        else
            rows_f64(&job, row);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(discounted_cumsum, cpu_sequential) = {
    .backend = BACKEND_CPU,
    .summary = "the recurrence, one row after the other, one thread",
    .origin = "torch-discounted-cumsum's C++, a loop over y[i] = x[i] + gamma y[i+1]",
    .supports = dcs_blocks_fit,
    .run = run,
};
