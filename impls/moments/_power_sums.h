/* _power_sums.h - the textbook's sums of powers of a column, unstable by design: what the published program's two CPU loops add up.
 */
#pragma once

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

/* From E[x^p] to E[(x - mean)^p]: here the digits are lost. */
static inline void power_sums_finish(const MomentsJob *job, size_t c, const PowerSums *self) {
    MomentsColumn column = {.mean = self->sum[1] / self->sum[0], .min = self->min, .max = self->max, .nan = self->nan};
    column.central[0] = 1;
    for (int p = 1; p <= job->powers; p++) column.central[p] = self->sum[p] / self->sum[0];
    moments_shift(column.central, -column.mean, job->powers);
    moments_finish(job, c, &column);
}
