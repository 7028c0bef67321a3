/* _shared.h - what the CPU variants of discounted_cumsum share: sums of k terms, block by block (_windows.h). */
#ifndef RUNGS_IMPLS_DCS_SHARED_H
#define RUNGS_IMPLS_DCS_SHARED_H

#include "common/discounted_cumsum/case.h"

/* Writes the outputs of the block of a row that begins at position `block`, a multiple of k; the blocks are independent. */
void dcs_window_block_f32(const DcsJob *job, size_t row, size_t block);
void dcs_window_block_f64(const DcsJob *job, size_t row, size_t block);

static inline void dcs_window_block(const DcsJob *job, size_t row, size_t block) {
    if (job->f32)
        dcs_window_block_f32(job, row, block);
    else
        dcs_window_block_f64(job, row, block);
}

#endif
