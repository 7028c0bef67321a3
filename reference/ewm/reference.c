/* The reference of `ewm`: one pass in double-double over what the observations so far amount to, and the bounds; docs/ops/ewm.md
 * has the argument. */
#include "ewm.h"

#include "reference/terms.h"
#include "reference/vector.h"

#include <float.h>
#include <stdlib.h>

/* A weight that is none beside that of the latest observation: the reference forgets it, variants may. No power of two: those are
 * the weights that round half-lives meet, and which side they are on must not hang on the last bit. */
#define FADED 0x1.8p-1000

/* Plain recurrences in the arithmetic of the variants, and how far they are from the exact values: where rounding errors are not
 * random, as on equal numbers, they show what to expect. */
typedef struct Trial {
    double sum, weights;        /* sum w x and sum w in the dtype */
    double weight;              /* sum w in double */
    double mean, spread;        /* by shares of the weight, in double */
    double error, spread_error; /* the largest of late, of a mean and of the spread */
} Trial;

/* What the observations of a series so far amount to. All sums are divided by the sum of their weights. */
typedef struct State {
    size_t count;     /* observations */
    size_t gap;       /* steps since the latest */
    Dd weight;        /* of them all, as the next observation finds it; 1 for the latest if adjust=false */
    Dd mean, spread;  /* sum w x, sum w (x - mean)^2 */
    Dd pairs;         /* 1 - sum w^2: what corrects the bias */
    double special;   /* 0, or what NaN and inf make of a mean */
    double magnitude; /* sum w |x| */
    double travelled; /* sum w |x| j, j: steps since the observation */
    double moment;    /* sum w x j */
    double age;       /* sum w j */
    double square;    /* sum w x^2, and with j */
    double square_travelled;
    double spread_travelled;
    double mean_error; /* sum w e^2 of the errors e of the means on the way */
    double largest;    /* max |x|, not scaled */
    Trial trial;
    double kept; /* share of the older observations' weight that the latest left, as a logarithm, summed up */
} State;

/* How errors grow. */
typedef struct Errors {
    double u;                          /* of the dtype; of a spread, whose state is double: of double */
    double depth;                      /* operations behind every term, beside those that grow with its distance */
    double drift;                      /* relative error of q as a variant has it */
    double mean_floor, variance_floor; /* what products lose among the subnormal numbers */
    double scale;
} Errors;

static double smaller(double a, double b) {
    return a < b ? a : b;
}

/* In the units of the reference's scaled input; without what `truncated` loses. */
static Errors errors_of(const Ewm *self, double scale) {
    const bool single = self->f32 && self->agg == EWM_MEAN; /* the state of a variance is double */
    const double u = single ? 0x1p-24 : 0x1p-53, tiny = single ? 0x1p-149 : 0x1p-1074, alpha = self->alpha.hi, q = self->q.hi;
    return (Errors){
        .u = u,
        .depth = 2 * ceil(log2((double)self->n + 1)) + 64,
        .drift = self->drift + (single && q > 0 ? fabs((double)(float)q - q) / q : 0),
        .mean_floor = 4 * tiny * scale / alpha,
        .variance_floor = 8 * tiny * scale * scale / alpha,
        .scale = scale,
    };
}

/* 4 standard deviations of a weighted sum of size s, if every rounding error were as large as it can be and its sign random. A term
 * passes 2 roundings for each step that it has travelled, and `depth` more. */
static double random_error(const Errors *e, double travelled, double s) {
    return 4 * e->u * sqrt(s) * sqrt(2 * travelled + e->depth * s);
}

/* The same in the worst case, but never more than 1/256. */
static double worst_error(const Errors *e, double travelled, double s) {
    return smaller(1.01 * (e->u * (2 * travelled + e->depth * s) + e->drift * travelled), 0x1p-8 * s);
}

/* Numerator, denominator, and a q that is off by `drift` in the sums that `moved` says; or fourfold what a trial showed. */
static double mean_error(const Errors *e, const State *state, double moved) {
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

static double full_mean_error(const Errors *e, const State *state) {
    const double of_sum = state->moment, of_weights = state->age * state->mean.hi;
    return mean_error(e, state, larger(fabs(of_sum - of_weights), larger(fabs(of_sum), fabs(of_weights))));
}

/* Of the mean that a spread is about: its weights are shares, which add up to 1 whatever q is. */
static double shared_mean_error(const Errors *e, const State *state) {
    return mean_error(e, state, fabs(state->moment - state->age * state->mean.hi));
}

/* Error of the unbiased variance. */
static double variance_error(const Errors *e, EwmBound bound, const State *state) {
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
        const double of_mean = full_mean_error(e, state);
        error += worst_error(e, state->square_travelled, state->square) + 2 * fabs(state->mean.hi) * of_mean + of_mean * of_mean;
    }
    return (error + e->variance_floor) / pairs;
}

/* Largest |sqrt(v') - sqrt(v)| for v' >= 0 with |v' - v| <= dv. */
static double root_error(double v, double dv) {
    return v > dv ? dv / (sqrt(v) + sqrt(v - dv)) : sqrt(dv);
}

/* An error is remembered while the elements that made it have weight. */
enum { MEMORY = 4 };

static double rounded(const Ewm *self, double value) {
    return self->f32 ? (double)(float)value : value;
}

static void trial_age(const Ewm *self, Trial *trial) {
    trial->weight *= self->q.hi;
    trial->weights = rounded(self, rounded(self, self->q.hi) * trial->weights);
    trial->sum = rounded(self, rounded(self, self->q.hi) * trial->sum);
}

static void trial_begin(Trial *trial, double x) {
    *trial = (Trial){.sum = x, .weights = 1, .weight = 1, .mean = x};
}

/* state: after x. */
static void trial_observe(const Ewm *self, Trial *trial, double x, const State *state) {
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

/* A sum of squares, scaled, which counts as 0, since subnormal numbers are slow; the tolerance has it. */
static const double SPREAD_LEAST = 0x1p-1000;

static Dd new_weight(const Ewm *self) {
    return self->adjust ? dd_from(1) : self->alpha;
}

/* The mean and what is about it, so that equal numbers leave the one as it is and the other 0. From the heavier of the two: the
 * other, if it is large and has all but faded, would leave its rounding errors. Returns (x - mean)^2, x being new. */
static Dd blend_mean(State *state, Dd old_share, Dd new_share, double x) {
    const Dd apart = dd_add_double(dd_negate(state->mean), x);
    state->mean = old_share.hi >= new_share.hi ? dd_add(state->mean, dd_multiply(new_share, apart))
                                               : dd_add_double(dd_negate(dd_multiply(old_share, apart)), x);
    return dd_square(apart);
}

/* The variance about the mean, which an element has moved. apart: its distance from the mean before, squared. */
static void observe_spread(State *state, Dd old_share, Dd new_share, Dd apart, double x, const Errors *errors) {
    const double gap = (double)state->gap, f = old_share.hi, b = new_share.hi;
    state->spread = dd_multiply(old_share, dd_add(state->spread, dd_multiply(new_share, apart)));
    if (!(state->spread.hi > SPREAD_LEAST)) state->spread = dd_from(0);
    state->spread_travelled =
        f * (state->spread_travelled + gap * b * (b + f * f) * apart.hi); /* the gap's steps have been added */
    state->pairs =
        dd_add(dd_multiply(dd_square(old_share), state->pairs), dd_multiply_double(dd_multiply(old_share, new_share), 2));
    state->square_travelled = f * (state->square_travelled + b * gap * x * x);
    state->square = f * state->square + b * x * x;
    const double error = shared_mean_error(errors, state);
    state->mean_error = f * state->mean_error + b * error * error;
}

/* A step of time, before its observation if there is one: everything is older. */
static void state_age(const Ewm *self, State *state) {
    state->weight = dd_multiply(state->weight, self->q);
    if (!(state->weight.hi > FADED * new_weight(self).hi)) state->weight = dd_from(0);
    state->gap++;
    state->travelled += state->magnitude;
    state->moment += state->mean.hi;
    trial_age(self, &state->trial);
    state->age += 1;
    state->square_travelled += state->square;
    state->spread_travelled += state->spread.hi;
}

static void state_observe(const Ewm *self, State *state, double x, const Errors *errors) {
    const Dd weight = new_weight(self), total = dd_add(state->weight, weight);
    const Dd old_share = dd_divide(state->weight, total), new_share = dd_divide(weight, total);
    const double f = old_share.hi, b = new_share.hi, gap = (double)state->gap;
    const Dd apart = blend_mean(state, old_share, new_share, x);
    state->magnitude = f * state->magnitude + b * fabs(x);
    state->travelled = f * (state->travelled + b * gap * fabs(x)); /* the shares are as old as the gap */
    state->moment = f * (state->moment + b * gap * x);
    state->age = f * (state->age + b * gap);
    if (self->agg != EWM_MEAN) observe_spread(state, old_share, new_share, apart, x, errors);
    if (self->bound == EWM_TRUNCATED) state->kept += log(f); /* a weight that is left is above FADED */
    state->weight = self->adjust ? total : dd_from(1);
    trial_observe(self, &state->trial, x, state);
    state->gap = 0;
    state->count++;
}

static void state_begin(const Ewm *self, State *state, double x, const Errors *errors) {
    state->weight = dd_from(1);
    state->mean = dd_from(x);
    state->magnitude = fabs(x);
    state->square = self->agg == EWM_MEAN ? 0 : x * x;
    state->count++;
    trial_begin(&state->trial, x);
    const double error = shared_mean_error(errors, state);
    state->mean_error = error * error;
}

/* What is left of observations that have faded, if there were any: how many they were, and what no weight takes away. */
static State forgotten(const State *state) {
    return (State){.count = state->count, .special = state->special, .largest = state->largest, .kept = state->kept + log(FADED)};
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
static void state_rescale(const Ewm *self, State *state, double x, Errors *errors) {
    if (self->f32) return;
    const double past = fmax(state->magnitude, sqrt(state->square)) / errors->scale;
    const double scale = scale_for(fmax(fabs(x), past)), half = sqrt(scale) / sqrt(errors->scale); /* all of it may be no double */
    if (half == 1) return;
    *errors = errors_of(self, scale);
    Trial *trial = &state->trial;
    double *const sums[] = {&state->mean.hi, &state->mean.lo, &state->magnitude, &state->travelled,
                            &state->moment,  &trial->sum,     &trial->mean,      &trial->error};
    double *const squares[] = {&state->spread.hi,        &state->spread.lo,  &state->square, &state->square_travelled,
                               &state->spread_travelled, &state->mean_error, &trial->spread, &trial->spread_error};
    for (int i = 0; i < 8; i++) scale_up(sums[i], half, 2);
    for (int i = 0; i < 8; i++) scale_up(squares[i], half, 4);
}

/* Element i of the series. */
static void state_take(const Ewm *self, State *state, double x, Errors *errors) {
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
static double faded(const Ewm *self, const State *state, double scale) {
    const double share = 4 * FADED, root = sqrt(share) * state->largest * scale;
    return self->agg == EWM_MEAN ? share * state->largest : root * root / state->pairs.hi;
}

/* dropped: the error by what `truncated` leaves out, of a mean or an uncorrected variance. */
static void settle(const Ewm *self, const State *state, const Errors *errors, double dropped, double *value, double *tolerance) {
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
            *tolerance = (full_mean_error(errors, state) + dropped) / scale + faded(self, state, scale);
    } else if (state->special != 0 || state->count < 2 || !(state->pairs.hi > 0)) {
        *value = NAN;
    } else {
        const Dd variance = dd_divide(state->spread, state->pairs);
        const double error =
            variance_error(errors, self->bound, state) + (dropped + SPREAD_LEAST) / state->pairs.hi + faded(self, state, scale);
        const bool root = self->agg == EWM_STD;
        *value = in_range(self, root ? dd_sqrt(variance).hi / scale : variance.hi / scale / scale);
        if (isfinite(*value))
            *tolerance = (root ? root_error(variance.hi, error) / scale : error / scale / scale) + 4 * u * *value + 8 * tiny;
    }
    if (!(*tolerance < DBL_MAX)) *tolerance = DBL_MAX;
    bound_terms_settle(tolerance);
}

/* For the bound `truncated`: what was known some elements ago. */
typedef struct Past {
    size_t window, begin; /* terms that are kept; where the series began */
    double *kept, *size;  /* of every element: State.kept, NaN before the first observation; sum w |x| or the root of sum w x^2,
                             not scaled */
} Past;

static double past_dropped(const Ewm *self, const Past *past, const State *state, double scale, size_t i) {
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

static void run(const Ewm *self, Past *past, Reference *out) {
    State state = {0};
    Errors errors = errors_of(self, 1);
    for (size_t i = 0; i < self->n; i++) {
        if (self->starts && self->starts[i]) {
            state = (State){0};
            past->begin = i;
        }
        state_take(self, &state, vector_load(self->x, self->f32, i), &errors);
        const double dropped = past->kept ? past_dropped(self, past, &state, errors.scale, i) : 0;
        settle(self, &state, &errors, dropped, &out->value[i], &out->tolerance[i]);
    }
}

Status ewm_reference(const Ewm *self, Reference *out) {
    const double window = floor(EWM_TRUNCATED_SPANS * (2 / self->alpha.hi - 1));
    Past past = {.window = window < 0x1p50 ? (size_t)window : (size_t)1 << 50};
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
