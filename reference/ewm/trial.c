/* See EwmTrial. */
#include "ewm.h"

/* An error is remembered while the elements that made it have weight. */
enum { MEMORY = 4 };

static double rounded(const Ewm *self, double value) {
    return self->f32 ? (double)(float)value : value;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

void ewm_trial_age(const Ewm *self, EwmTrial *trial) {
    trial->weight *= self->q.hi;
    trial->weights = rounded(self, rounded(self, self->q.hi) * trial->weights);
    trial->sum = rounded(self, rounded(self, self->q.hi) * trial->sum);
}

void ewm_trial_begin(EwmTrial *trial, double x) {
    *trial = (EwmTrial){.sum = x, .weights = 1, .weight = 1, .mean = x};
}

void ewm_trial_observe(const Ewm *self, EwmTrial *trial, double x, const EwmState *state) {
    const double own = self->adjust ? 1 : self->alpha.hi, total = trial->weight + own;
    const double keep = trial->weight / total, share = own / total, delta = x - trial->mean;
    trial->mean = keep * trial->mean + share * x;
    trial->spread = keep * (trial->spread + share * (delta * delta));
    trial->sum = rounded(self, trial->sum + rounded(self, rounded(self, own) * x));
    trial->weights = rounded(self, trial->weights + rounded(self, own));
    const double exact = state->mean.hi, all = self->adjust ? state->weight.hi : total;
    double error = larger(fabs(trial->sum / all - exact), fabs(trial->mean - exact));
    error = larger(error, fabs(trial->sum / trial->weights - exact));
    if (!self->adjust) trial->weights = 1;
    if (!self->adjust && fabs(total - 1) > 0x1p-40) trial->sum = rounded(self, trial->sum / total); /* behind a gap */
    trial->weight = self->adjust ? total : 1;
    trial->error = larger(error, (1 - share / MEMORY) * trial->error);
    trial->spread_error = larger(fabs(trial->spread - state->spread.hi), (1 - share / MEMORY) * trial->spread_error);
}
