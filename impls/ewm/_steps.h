/* _steps.h - ewm on the CPU, one element at a time: the state of a series up to here, and how an observation changes it.
 *
 * All weights are shares of the total: the older elements keep `keep` of it, the new element gets `share`. The spread, and one
 * minus the sum of squared shares (its bias correction), are blended in the same way. The only subtraction is element minus mean.
 * Infinities, and NaN where they propagate, are kept apart from the arithmetic: once seen they stay until the series ends. */
#pragma once

#include "_shared.h"

typedef struct EwmState {
    double mean, spread, pairs; /* spread: sum w (x - mean)^2 / sum w; pairs: 1 - sum w^2 / (sum w)^2 */
    double weight;              /* sum of the weights at the last observation; always 1 without adjust */
    double gap;                 /* q^(steps since the last observation) */
    double special;             /* sum of the elements that are not finite, or 0 */
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

/* The first observation of a series. */
static inline void ewm_begin(EwmState *self, double x) {
    self->mean = x;
    self->spread = self->pairs = 0;
    self->weight = 1;
}

/* Every later observation. */
static inline void ewm_blend(const EwmCase *rule, EwmState *self, double x) {
    const double aged = self->weight * self->gap, own = rule->adjust ? 1 : rule->alpha,
                 old = aged > EWM_NEGLIGIBLE * own ? aged : 0;
    const double total = old + own, keep = old / total, share = own / total, delta = x - self->mean;
    if (delta != 0) self->mean = keep * self->mean + share * x; /* equal numbers keep their mean, and no spread, exactly */
    self->spread = keep * (self->spread + share * (delta * delta));
    self->pairs = keep * (keep * self->pairs + 2 * share);
    self->weight = rule->adjust ? total : 1;
}

/* The next element of the series, which may be a NaN that only lets time pass. */
static inline void ewm_step(const EwmCase *rule, EwmState *self, double x) {
    self->gap *= rule->q;
    if (rule->nan_decays && isnan(x)) return;
    const bool finite = isfinite(x);
    if (rule->q == 0) self->special = 0; /* only the latest observation counts */
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
