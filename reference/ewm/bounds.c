/* The bounds of `ewm`; docs/ops/ewm.md has the argument. */
#include "ewm.h"

static double smaller(double a, double b) {
    return a < b ? a : b;
}

EwmErrors ewm_errors(const Ewm *self, double scale) {
    const bool single = self->f32 && self->agg == EWM_MEAN; /* the state of a variance is double */
    const double u = single ? 0x1p-24 : 0x1p-53, tiny = single ? 0x1p-149 : 0x1p-1074, alpha = self->alpha.hi, q = self->q.hi;
    return (EwmErrors){
        .u = u,
        .depth = 2 * ceil(log2((double)self->n + 1)) + 64,
        .drift = self->drift + (single && q > 0 ? fabs((double)(float)q - q) / q : 0),
        .mean_floor = 4 * tiny * scale / alpha,
        .variance_floor = 8 * tiny * scale * scale / alpha,
        .scale = scale,
    };
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* 4 standard deviations of a weighted sum of size s, if every rounding error were as large as it can be and its sign random. A term
 * passes 2 roundings for each step that it has travelled, and `depth` more. */
static double random_error(const EwmErrors *e, double travelled, double s) {
    return 4 * e->u * sqrt(s) * sqrt(2 * travelled + e->depth * s);
}

/* The same in the worst case, but never more than 1/256. */
static double worst_error(const EwmErrors *e, double travelled, double s) {
    return smaller(1.01 * (e->u * (2 * travelled + e->depth * s) + e->drift * travelled), 0x1p-8 * s);
}

/* Numerator, denominator, and a q that is off by `drift` in the sums that `moved` says; or fourfold what a trial showed. */
static double mean_error(const EwmErrors *e, const EwmState *state, double moved) {
    const double y = fabs(state->mean.hi);
    const double worst = worst_error(e, state->travelled, state->magnitude) + y * worst_error(e, state->age, 1);
    const double random = hypot(random_error(e, state->travelled, state->magnitude), y * random_error(e, state->age, 1));
    if (larger(random + e->drift * moved, 4 * state->trial.error) < worst) {
        bound_term("roundings of either sign, 4 u sqrt(s (2 t + d s) + y^2 (2 a + d))", random);
        bound_term("q is off by r, r max(|m|, a |y|)", e->drift * moved);
        bound_term("errors of one sign, 4 e", 4 * state->trial.error);
    } else {
        bound_term("roundings of every term by its size, u (2 t + d s)", worst);
    }
    return smaller(larger(random + e->drift * moved, 4 * state->trial.error), worst) + 4 * e->u * y + e->mean_floor;
}

double ewm_mean_error(const EwmErrors *e, const EwmState *state) {
    const double of_sum = state->moment, of_weights = state->age * state->mean.hi;
    return mean_error(e, state, larger(fabs(of_sum - of_weights), larger(fabs(of_sum), fabs(of_weights))));
}

double ewm_shared_mean_error(const EwmErrors *e, const EwmState *state) {
    return mean_error(e, state, fabs(state->moment - state->age * state->mean.hi));
}

double ewm_variance_error(const EwmErrors *e, EwmBound bound, const EwmState *state) {
    const double spread = state->spread.hi, pairs = state->pairs.hi, travelled = state->spread_travelled;
    const double means = 0.5 * sqrt(spread) * sqrt(state->mean_error) + 4 * state->mean_error;
    const double random = random_error(e, travelled, spread) + e->drift * fabs(travelled - state->age * spread) + means;
    double error = larger(random, 4 * state->trial.spread_error);
    bound_terms_forget();
    bound_term("roundings of the spread of either sign, 4 u sqrt(s (2 t + d s))", random_error(e, travelled, spread));
    bound_term("q is off by r, r |t - a s|", e->drift * fabs(travelled - state->age * spread));
    bound_term("errors of the means on the way", means);
    bound_term("errors of one sign, 4 e", 4 * state->trial.spread_error);
    /* The correction, perhaps as a difference of sums of weights; in one that is near 1, q is hardly felt. */
    const double weights = random_error(e, state->age, 1) * (4 - 3 * pairs) + 4 * (1 - pairs) * e->drift * state->age;
    error += spread * smaller(weights / pairs, 0x1p-8);
    bound_term("roundings of the bias correction", spread * smaller(weights / pairs, 0x1p-8));
    if (bound == EWM_TEXTBOOK) {
        const double of_mean = ewm_mean_error(e, state);
        error += worst_error(e, state->square_travelled, state->square) + 2 * fabs(state->mean.hi) * of_mean + of_mean * of_mean;
    }
    return (error + e->variance_floor) / pairs;
}

double ewm_root_error(double v, double dv) {
    return v > dv ? dv / (sqrt(v) + sqrt(v - dv)) : sqrt(dv);
}
