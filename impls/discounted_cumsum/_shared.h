/* _shared.h - what the CPU variants of discounted_cumsum share: sums of k terms, block by block (_windows.h). */
#pragma once

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

#define DCS_DEFINE_ROWS(T, suffix, LANES)                                                                                          \
    /* `rows` rows from `row` on, side by side, LANES at most; a constant at each call. */                                         \
    static inline __attribute__((always_inline)) void rows_##suffix(const DcsJob *job, size_t row, size_t rows) {                  \
        const DcsWalk walk = dcs_walk(job, row, 0);                                                                                \
        const T *x = (const T *)job->x + walk.first, *gamma = (const T *)job->gamma + walk.gamma_first;                            \
        const uint8_t *reset = job->reset ? job->reset + walk.first : NULL;                                                        \
        T *y = (T *)job->y + walk.first, g[LANES], carry[LANES] = {0};                                                             \
        for (size_t l = 0; l < rows; l++) g[l] = gamma[l * job->gamma_row];                                                        \
        for (ptrdiff_t p = 0; p < (ptrdiff_t)job->n; p++) {                                                                        \
            for (size_t l = 0; l < rows; l++) {                                                                                    \
                const ptrdiff_t i = p * walk.step + (ptrdiff_t)(l * job->n);                                                       \
                if (walk.gamma_step != 0) g[l] = gamma[i];                                                                         \
                carry[l] = reset && reset[i] != 0 ? x[i] : x[i] + g[l] * carry[l];                                                 \
                y[i] = carry[l];                                                                                                   \
            }                                                                                                                      \
        }                                                                                                                          \
    }
