/* Wrong definitions of `ewm`, one output at a time, from as many elements as any weight is left of. */
#include "ewm.h"
#include "reference/vector.h"

#include <math.h>

enum { LONGER, OTHERWISE, BIASED, SHIFTED };
const char *const EWM_WRONG[] = {[LONGER] = "span+1", [OTHERWISE] = "adjust", [BIASED] = "bias", [SHIFTED] = "shift", NULL};

/* Weights of observations, of their squares; sum w (x - mean)^2. */
typedef struct Sums {
    long double weight, weight2, mean, spread;
    size_t count;
} Sums;

static void observe(Sums *self, double x, long double weight, bool adjust) {
    const long double before = self->weight, after = before + weight, apart = x - self->mean;
    self->spread += weight * before / after * apart * apart;
    self->mean += apart * weight / after;
    self->weight2 += weight * weight;
    self->weight = after;
    self->count++;
    if (adjust) return;
    self->spread /= after;
    self->weight2 /= after * after;
    self->weight = 1;
}

static size_t beginning(const Ewm *self, size_t i, long double q) {
    const long double reach = 36 / -logl(q);
    size_t begin = i;
    while (begin > 0 && (long double)(i - begin) < reach && !(self->starts && self->starts[begin])) begin--;
    return begin;
}

static bool result(const Ewm *self, const Sums *sums, bool biased, double *value) {
    const long double pairs = 1 - sums->weight2 / (sums->weight * sums->weight), variance = sums->spread / sums->weight;
    if (sums->count < (self->agg == EWM_MEAN ? 1u : 2u)) return false;
    const long double corrected = biased ? variance : variance / pairs;
    *value = (double)(self->agg == EWM_MEAN ? sums->mean : self->agg == EWM_VAR ? corrected : sqrtl(corrected));
    return true;
}

bool ewm_wrong_value(const Ewm *self, const Reference *right, int which, size_t i, double *value) {
    long double alpha = self->alpha.hi, q = self->q.hi + (long double)self->q.lo;
    if (!isfinite(right->value[i]) || !(q > 0) || (which == BIASED && self->agg == EWM_MEAN)) return false;
    if (which == SHIFTED) {
        if (i == 0 || (self->starts && self->starts[i]) || !isfinite(right->value[i - 1])) return false;
        *value = right->value[i - 1];
        return true;
    }
    if (which == LONGER) alpha = 2 * alpha / (2 + alpha), q = 1 - alpha;
    const bool adjust = self->adjust != (which == OTHERWISE);
    Sums sums = {0};
    for (size_t k = beginning(self, i, q); k <= i; k++) {
        const double x = vector_load(self->x, self->f32, k);
        sums.weight *= q;
        sums.weight2 *= q * q;
        sums.spread *= q;
        if (isinf(x)) return false;
        if (!isnan(x)) observe(&sums, x, adjust || sums.count == 0 ? 1 : alpha, adjust);
    }
    return result(self, &sums, which == BIASED, value);
}
