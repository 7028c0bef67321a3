/* The bounds of `ewm`; docs/ops/ewm.md has the argument. */
#include "ewm.h"

static double smaller(double a, double b) {
    return a < b ? a : b;
}

EwmErrors ewm_errors(const Ewm *self, double scale) {
    const double u = self->f32 ? 0x1p-24 : 0x1p-53, tiny = self->f32 ? 0x1p-149 : 0x1p-1074, alpha = self->alpha.hi, q = self->q.hi;
    /* q is computed in double, by way of alpha or not, and rounded to the dtype. */
    const double computed = 0x1p-53 * (3 + (q > 0 ? 4 * alpha / q : 0));
    return (EwmErrors){
        .u = u,
        .depth = 2 * ceil(log2((double)self->n + 1)) + 64,
        .drift = computed + (self->f32 ? u : 0),
        .mean_floor = 4 * tiny * scale / alpha,
        .variance_floor = 8 * tiny * scale * scale / alpha,
        .scale = scale,
    };
}

/* Of a weighted sum of size `magnitude`: never more than 1/256 of it. */
static double sum_error(const EwmErrors *e, double travelled, double magnitude) {
    const double first_order = 1.01 * (e->u * (2 * travelled + e->depth * magnitude) + e->drift * travelled);
    return smaller(first_order, 0x1p-8 * magnitude);
}

double ewm_mean_error(const EwmErrors *e, const EwmState *state) {
    return sum_error(e, state->travelled, state->magnitude) + fabs(state->mean.hi) * sum_error(e, state->age, 1) + e->mean_floor;
}

double ewm_variance_error(const EwmErrors *e, EwmBound bound, const EwmState *state) {
    const double spread = state->spread.hi, pairs = state->pairs.hi;
    double error =
        sum_error(e, state->spread_travelled, spread) + 4 * sqrt(spread) * sqrt(state->mean_error) + 4 * state->mean_error;
    /* The correction as a difference of sums of weights, each of an age. */
    error += spread * smaller(4 * sum_error(e, state->age, 1) / pairs, 0x1p-8);
    if (bound == EWM_TEXTBOOK) {
        const double of_mean = ewm_mean_error(e, state);
        error += sum_error(e, state->square_travelled, state->square) + 2 * fabs(state->mean.hi) * of_mean + of_mean * of_mean;
    }
    return (error + e->variance_floor) / pairs;
}

double ewm_root_error(double v, double dv) {
    return v > dv ? dv / (sqrt(v) + sqrt(v - dv)) : sqrt(dv);
}
