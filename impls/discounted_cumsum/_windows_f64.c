/* Sums of k terms in double. */
#include "discounted_cumsum/_shared.h"
#include "discounted_cumsum/_windows.h"

void dcs_window_block_f64(const DcsJob *job, size_t row, size_t block) {
    window_block(job, row, block);
}
