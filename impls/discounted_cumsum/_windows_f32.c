/* Sums of k terms in float. */
#define DCS_F32
#include "discounted_cumsum/_shared.h"
#include "discounted_cumsum/_windows.h"

void dcs_window_block_f32(const DcsJob *job, size_t row, size_t block) {
    window_block(job, row, block);
}
