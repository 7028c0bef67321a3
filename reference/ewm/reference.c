/* The reference of `ewm`: one pass in double-double over what the observations so far amount to. */
#include "ewm.h"

#include <float.h>
#include <stdlib.h>

/* A sum of squares, scaled, which counts as 0, since subnormal numbers are slow; the tolerance has it. */
static const double SPREAD_LEAST = 0x1p-1000;

static double element(const Ewm *self, size_t i) {
    return self->f32 ? (double)((const float *)self->x)[i] : ((const double *)self->x)[i];
}

static Dd new_weight(const Ewm *self) {
    return self->adjust ? dd_from(1) : self->alpha;
}

/* The mean and what is about it, so that equal numbers leave the one as it is and the other 0. From the heavier of the two: the
 * other, if it is large and has all but faded, would leave its rounding errors. Returns (x - mean)^2, x being new. */
static Dd blend_mean(EwmState *state, Dd old_share, Dd new_share, double x) {
    const Dd apart = dd_add_double(dd_negate(state->mean), x);
    state->mean = old_share.hi >= new_share.hi ? dd_add(state->mean, dd_multiply(new_share, apart))
                                               : dd_add_double(dd_negate(dd_multiply(old_share, apart)), x);
    return dd_square(apart);
}

/* The variance about the mean, which an element has moved. apart: its distance from the mean before, squared. */
static void observe_spread(EwmState *state, Dd old_share, Dd new_share, Dd apart, double x, const EwmErrors *errors) {
    const double gap = (double)state->gap, f = old_share.hi, b = new_share.hi;
    state->spread = dd_multiply(old_share, dd_add(state->spread, dd_multiply(new_share, apart)));
    if (!(state->spread.hi > SPREAD_LEAST)) state->spread = dd_from(0);
    state->spread_travelled =
        f * (state->spread_travelled + gap * b * (b + f * f) * apart.hi); /* the gap's steps have been added */
    state->pairs =
        dd_add(dd_multiply(dd_square(old_share), state->pairs), dd_multiply_double(dd_multiply(old_share, new_share), 2));
    state->square_travelled = f * (state->square_travelled + b * gap * x * x);
    state->square = f * state->square + b * x * x;
    const double error = ewm_shared_mean_error(errors, state);
    state->mean_error = f * state->mean_error + b * error * error;
}

/* A step of time, before its observation if there is one: everything is older. */
static void state_age(const Ewm *self, EwmState *state) {
    state->weight = dd_multiply(state->weight, self->q);
    if (!(state->weight.hi > EWM_FADED * new_weight(self).hi)) state->weight = dd_from(0);
    state->gap++;
    state->travelled += state->magnitude;
    state->moment += state->mean.hi;
    ewm_trial_age(self, &state->trial);
    state->age += 1;
    state->square_travelled += state->square;
    state->spread_travelled += state->spread.hi;
}

static void state_observe(const Ewm *self, EwmState *state, double x, const EwmErrors *errors) {
    const Dd weight = new_weight(self), total = dd_add(state->weight, weight);
    const Dd old_share = dd_divide(state->weight, total), new_share = dd_divide(weight, total);
    const double f = old_share.hi, b = new_share.hi, gap = (double)state->gap;
    const Dd apart = blend_mean(state, old_share, new_share, x);
    state->magnitude = f * state->magnitude + b * fabs(x);
    state->travelled = f * (state->travelled + b * gap * fabs(x)); /* the shares are as old as the gap */
    state->moment = f * (state->moment + b * gap * x);
    state->age = f * (state->age + b * gap);
    if (self->agg != EWM_MEAN) observe_spread(state, old_share, new_share, apart, x, errors);
    if (self->bound == EWM_TRUNCATED) state->kept += log(f); /* a weight that is left is above EWM_FADED */
    state->weight = self->adjust ? total : dd_from(1);
    ewm_trial_observe(self, &state->trial, x, state);
    state->gap = 0;
    state->count++;
}

static void state_begin(const Ewm *self, EwmState *state, double x, const EwmErrors *errors) {
    state->weight = dd_from(1);
    state->mean = dd_from(x);
    state->magnitude = fabs(x);
    state->square = self->agg == EWM_MEAN ? 0 : x * x;
    state->count++;
    ewm_trial_begin(&state->trial, x);
    const double error = ewm_shared_mean_error(errors, state);
    state->mean_error = error * error;
}

/* What is left of observations that have faded, if there were any: how many they were, and what no weight takes away. */
static EwmState forgotten(const EwmState *state) {
    return (EwmState){
        .count = state->count, .special = state->special, .largest = state->largest, .kept = state->kept + log(EWM_FADED)};
}

/* The power of two that numbers of this size are taken times, so that neither they nor their squares leave the range. */
static double scale_for(double size) {
    if (size < 0x1p-400) return 0x1p800;
    return size >= 0x1p450 ? 0x1p-600 : 1;
}

static void scale_up(double *number, double power_of_two, int times) {
    for (int i = 0; i < times; i++) *number *= power_of_two;
}

/* A scale for the next observation and what is left of those before it: a series of subnormal doubles has its digits, whatever
 * came before, in it or in another series. Floats and their squares are doubles as they are. */
static void state_rescale(const Ewm *self, EwmState *state, double x, EwmErrors *errors) {
    if (self->f32) return;
    const double past = fmax(state->magnitude, sqrt(state->square)) / errors->scale;
    const double scale = scale_for(fmax(fabs(x), past)), half = sqrt(scale) / sqrt(errors->scale); /* all of it may be no double */
    if (half == 1) return;
    *errors = ewm_errors(self, scale);
    EwmTrial *trial = &state->trial;
    double *const sums[] = {&state->mean.hi, &state->mean.lo, &state->magnitude, &state->travelled,
                            &state->moment,  &trial->sum,     &trial->mean,      &trial->error};
    double *const squares[] = {&state->spread.hi,        &state->spread.lo,  &state->square, &state->square_travelled,
                               &state->spread_travelled, &state->mean_error, &trial->spread, &trial->spread_error};
    for (int i = 0; i < 8; i++) scale_up(sums[i], half, 2);
    for (int i = 0; i < 8; i++) scale_up(squares[i], half, 4);
}

/* Element i of the series. */
static void state_take(const Ewm *self, EwmState *state, double x, EwmErrors *errors) {
    const bool observed = self->propagate || !isnan(x), old_count = self->q.hi > 0;
    if (state->count > 0) state_age(self, state);
    if (!observed) return;
    const bool first = !(state->weight.hi > 0);
    if (first) *state = forgotten(state);
    if (isfinite(x)) state_rescale(self, state, x, errors);
    const double finite = isfinite(x) ? x * errors->scale : 0, special = isfinite(x) ? 0 : x;
    if (isfinite(x)) state->largest = fmax(state->largest, fabs(x));
    if (first)
        state_begin(self, state, finite, errors);
    else
        state_observe(self, state, finite, errors);
    state->special = old_count ? state->special + special : special; /* inf - inf is NaN; with q = 0 only the latest counts */
}

/* A value beyond the dtype's range is the infinity that rounding to the dtype gives. */
static double in_range(const Ewm *self, double value) {
    return self->f32 && fabs(value) >= 0x1.ffffffp127 ? copysign(INFINITY, value) : value;
}

/* What weights that have faded may leave behind or take away. */
static double faded(const Ewm *self, const EwmState *state, double scale) {
    const double share = 4 * EWM_FADED, root = sqrt(share) * state->largest * scale;
    return self->agg == EWM_MEAN ? share * state->largest : root * root / state->pairs.hi;
}

/* dropped: the error by what `truncated` leaves out, of a mean or an uncorrected variance. */
static void settle(const Ewm *self, const EwmState *state, const EwmErrors *errors, double dropped, double *value,
                   double *tolerance) {
    const double scale = errors->scale, u = self->f32 ? 0x1p-24 : 0x1p-53, tiny = self->f32 ? 0x1p-149 : 0x1p-1074;
    *tolerance = 0;
    bound_terms_forget(); /* what the means on the way were off by */
    if (state->count < self->min_periods) {
        *value = self->incomplete;
        return;
    }
    if (self->agg == EWM_MEAN) {
        *value = state->special != 0 ? state->special : in_range(self, state->mean.hi / scale);
        if (isfinite(*value) && self->q.hi > 0)
            *tolerance = (ewm_mean_error(errors, state) + dropped) / scale + faded(self, state, scale);
    } else if (state->special != 0 || state->count < 2 || !(state->pairs.hi > 0)) {
        *value = NAN;
    } else {
        const Dd variance = dd_divide(state->spread, state->pairs);
        const double error =
            ewm_variance_error(errors, self->bound, state) + (dropped + SPREAD_LEAST) / state->pairs.hi + faded(self, state, scale);
        const bool root = self->agg == EWM_STD;
        *value = in_range(self, root ? dd_sqrt(variance).hi / scale : variance.hi / scale / scale);
        if (isfinite(*value))
            *tolerance = (root ? ewm_root_error(variance.hi, error) / scale : error / scale / scale) + 4 * u * *value + 8 * tiny;
    }
    if (!(*tolerance < DBL_MAX)) *tolerance = DBL_MAX;
    bound_terms_settle(tolerance);
}

/* For the bound `truncated`: what was known some elements ago. */
typedef struct EwmPast {
    size_t window, begin; /* terms that are kept; where the series began */
    double *kept, *size;  /* of every element: EwmState.kept, NaN before the first observation; sum w |x| or the root of sum w x^2,
                             not scaled */
} EwmPast;

static double past_dropped(const Ewm *self, const EwmPast *past, const EwmState *state, double scale, size_t i) {
    const bool mean = self->agg == EWM_MEAN;
    past->kept[i] = state->count == 0 ? NAN : state->kept;
    past->size[i] = state->count == 0 ? 0 : (mean ? state->magnitude : sqrt(state->square)) / scale;
    if (i < past->window || i - past->window < past->begin || isnan(past->kept[i - past->window])) return 0;
    const double share = exp(state->kept - past->kept[i - past->window]);
    if (!(share < 0.5)) return DBL_MAX;
    const double old = (mean ? share : sqrt(share)) * past->size[i - past->window] * scale, about = state->mean.hi;
    if (mean) return 1.01 / (1 - share) * (old + share * fabs(about));
    /* The shares that are left grow by 1 / (1 - share). The bias correction has that twice, as 1 - pairs is a sum of squares. */
    const double left = 1 - share, pairs = state->pairs.hi;
    const double corrected = pairs > 0 ? share * (2 - share) / (left * left) * (1 - pairs) / pairs : 0;
    if (!(corrected < 0.5)) return DBL_MAX;
    return 1.01 / left / (1 - corrected) * ((3 * share + corrected) * state->spread.hi + 2 * share * about * about + 2 * old * old);
}

static void run(const Ewm *self, EwmPast *past, Reference *out) {
    EwmState state = {0};
    EwmErrors errors = ewm_errors(self, 1);
    for (size_t i = 0; i < self->n; i++) {
        if (self->starts && self->starts[i]) {
            state = (EwmState){0};
            past->begin = i;
        }
        state_take(self, &state, element(self, i), &errors);
        const double dropped = past->kept ? past_dropped(self, past, &state, errors.scale, i) : 0;
        settle(self, &state, &errors, dropped, &out->value[i], &out->tolerance[i]);
    }
}

Status ewm_reference(const Ewm *self, Reference *out) {
    const double window = floor(EWM_TRUNCATED_SPANS * (2 / self->alpha.hi - 1));
    EwmPast past = {.window = window < 0x1p50 ? (size_t)window : (size_t)1 << 50};
    if (self->bound == EWM_TRUNCATED && self->n > 0) {
        past.kept = malloc(self->n * sizeof(double));
        past.size = malloc(self->n * sizeof(double));
    }
    const bool starved = self->bound == EWM_TRUNCATED && self->n > 0 && (!past.kept || !past.size);
    if (!starved) run(self, &past, out);
    free(past.kept);
    free(past.size);
    return starved ? status_fail(STATUS_MEMORY, "ewm reference: no memory for %zu elements", self->n) : STATUS_OK;
}
