/* steps.h - ewm on the CPU, one element after the other: what a series amounts to so far, and how an observation changes it.
 *
 * Weights are those of shares: of all weight, `keep` stays with what was there and `share` is the new element's. The spread, and
 * one minus the sum of squared shares that corrects its bias, are blended the same way; nothing is subtracted but an element and
 * the mean. Infinities, and NaN where they propagate, are kept beside the arithmetic: once seen they stay for the rest of the
 * series. */
#ifndef RUNGS_IMPLS_EWM_STEPS_H
#define RUNGS_IMPLS_EWM_STEPS_H

#include "common/ewm/case.h"

#include <float.h>
#include <stdint.h>

typedef struct EwmState {
    double mean, spread, pairs; /* spread: sum w (x - mean)^2 / sum w; pairs: 1 - sum w^2 / (sum w)^2 */
    double weight, gap;         /* at the last observation (without adjust always 1); what the steps since then leave of it */
    double special;             /* the sum of what is not finite, or 0 */
    size_t count;               /* observations */
} EwmState;

static inline double ewm_load(const void *x, size_t i, bool f32) {
    return f32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static inline void ewm_store(void *y, size_t i, bool f32, double value) {
    if (f32)
        ((float *)y)[i] = (float)value;
    else
        ((double *)y)[i] = value;
}

static inline void ewm_begin(EwmState *self, double x) {
    self->mean = x;
    self->spread = self->pairs = 0;
    self->weight = 1;
}

static inline void ewm_blend(const EwmCase *rule, EwmState *self, double x) {
    const double aged = self->weight * self->gap, own = rule->adjust ? 1 : rule->alpha,
                 old = aged > EWM_NEGLIGIBLE * own ? aged : 0;
    const double total = old + own, keep = old / total, share = own / total, delta = x - self->mean;
    self->mean = keep * self->mean + share * x;
    self->spread = keep * (self->spread + share * (delta * delta));
    self->pairs = keep * (keep * self->pairs + 2 * share);
    self->weight = rule->adjust ? total : 1;
}

/* The next element of the series. */
static inline void ewm_step(const EwmCase *rule, EwmState *self, double x) {
    self->gap *= rule->q;
    if (rule->nan_decays && isnan(x)) return;
    const bool finite = isfinite(x);
    if (rule->q == 0) self->special = 0; /* only the latest counts */
    if (!finite) self->special += x;
    if (self->count == 0)
        ewm_begin(self, finite ? x : 0);
    else
        ewm_blend(rule, self, finite ? x : 0);
    self->gap = 1;
    self->count++;
}

static inline double ewm_output(const EwmCase *rule, const EwmState *self) {
    if (self->count < rule->min_periods) return rule->incomplete;
    if (rule->agg == EWM_MEAN) return self->special != 0 ? self->special : self->mean;
    if (self->special != 0 || !(self->pairs > 0)) return NAN;
    const double variance = self->spread / self->pairs;
    return rule->agg == EWM_STD ? sqrt(variance) : variance;
}

/* Elements [first, end) of x to y; starts: NULL, or where a new series begins. */
static inline void ewm_walk(const EwmCase *rule, EwmState *self, const void *x, const uint8_t *starts, void *y, bool f32,
                            size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        if (starts && starts[i] != 0) *self = (EwmState){0};
        ewm_step(rule, self, ewm_load(x, i, f32));
        ewm_store(y, i, f32, ewm_output(rule, self));
    }
}

#endif
