/* The reference of `ewm`: one pass in double-double over what the observations so far amount to, and the bounds; docs/ops/ewm.md
 * has the argument. All cores share a long series, with the bits of one pass. */
#include "ewm.h"

#include "reference/recurrence.h"
#include "reference/terms.h"
#include "reference/vector.h"

#include <float.h>
#include <omp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
    double kept; /* last: walk_same(); share of the older observations' weight that the latest left, as a logarithm, summed up */
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

/* Numerator, denominator, and a q that is off by `drift` in the sums that `moved` says; or fourfold what a trial showed. The
 * squares below are those of two random_error(): scaled input is below 2^450, so they do not overflow; where they underflow, below
 * 2^-530, errors are far below what subnormal numbers cost, which is added. */
static double mean_error(const Errors *e, const State *state, double moved) {
    const double y = fabs(state->mean.hi), s = state->magnitude, travelled = state->travelled, age = state->age;
    const double worst = worst_error(e, travelled, s) + y * worst_error(e, age, 1);
    const double random = 4 * e->u * sqrt(s * (2 * travelled + e->depth * s) + y * y * (2 * age + e->depth));
    const double likely = larger(random + e->drift * moved, 4 * state->trial.error);
    if (likely < worst) {
        bound_term("roundings of either sign, 4 u sqrt(s (2 t + d s) + y^2 (2 a + d))", random);
        bound_term("q is off by r, r max(|m|, a |y|)", e->drift * moved);
        bound_term("errors of one sign, 4 e", 4 * state->trial.error);
    } else {
        bound_term("roundings of every term by its size, u (2 t + d s)", worst);
    }
    return smaller(likely, worst) + 4 * e->u * y + e->mean_floor;
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
    const double roundings = random_error(e, travelled, spread);
    const double random = roundings + e->drift * fabs(travelled - state->age * spread) + means;
    double error = larger(random, 4 * state->trial.spread_error);
    bound_terms_forget();
    bound_term("roundings of the spread of either sign, 4 u sqrt(s (2 t + d s))", roundings);
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

/* Shares of a weight and of all that came before, for as long as the weights stay as they are, which they soon do. */
typedef struct Shares {
    double trial_weight, trial_keep, trial_share; /* Trial.weight before the observation */
    Dd weight;                                    /* State.weight before it */
    Dd total, old_share, new_share;
} Shares;

static void trial_begin(Trial *trial, double x) {
    *trial = (Trial){.sum = x, .weights = 1, .weight = 1, .mean = x};
}

/* state: after x. */
static void trial_observe(const Ewm *self, Trial *trial, double x, const State *state, Shares *shares) {
    const double own = self->adjust ? 1 : self->alpha.hi, total = trial->weight + own;
    if (trial->weight != shares->trial_weight) {
        shares->trial_weight = trial->weight;
        shares->trial_keep = trial->weight / total;
        shares->trial_share = own / total;
    }
    const double keep = shares->trial_keep, share = shares->trial_share, delta = x - trial->mean;
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

static void shares_for(Shares *shares, const Ewm *self, Dd old) {
    if (old.hi == shares->weight.hi && old.lo == shares->weight.lo) return;
    const Dd weight = new_weight(self);
    shares->weight = old;
    shares->total = dd_add(old, weight);
    shares->old_share = dd_divide(old, shares->total);
    shares->new_share = dd_divide(weight, shares->total);
}

static void state_observe(const Ewm *self, State *state, double x, const Errors *errors, Shares *shares) {
    shares_for(shares, self, state->weight);
    const Dd old_share = shares->old_share, new_share = shares->new_share;
    const double f = old_share.hi, b = new_share.hi, gap = (double)state->gap;
    const Dd apart = blend_mean(state, old_share, new_share, x);
    state->magnitude = f * state->magnitude + b * fabs(x);
    state->travelled = f * (state->travelled + b * gap * fabs(x)); /* the shares are as old as the gap */
    state->moment = f * (state->moment + b * gap * x);
    state->age = f * (state->age + b * gap);
    if (self->agg != EWM_MEAN) observe_spread(state, old_share, new_share, apart, x, errors);
    if (self->bound == EWM_TRUNCATED) state->kept += log(f); /* a weight that is left is above FADED */
    state->weight = self->adjust ? shares->total : dd_from(1);
    trial_observe(self, &state->trial, x, state, shares);
    state->gap = 0;
}

static void state_begin(const Ewm *self, State *state, double x, const Errors *errors) {
    state->weight = dd_from(1);
    state->mean = dd_from(x);
    state->magnitude = fabs(x);
    trial_begin(&state->trial, x);
    if (self->agg == EWM_MEAN) return;
    state->square = x * x;
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
    const double past = larger(state->magnitude, sqrt(state->square)) / errors->scale;
    const double scale = scale_for(larger(fabs(x), past)), before = errors->scale;
    if (scale == before) return;
    const double half = sqrt(scale) / sqrt(before); /* all of it may be no double */
    *errors = errors_of(self, scale);
    Trial *trial = &state->trial;
    double *const sums[] = {&state->mean.hi, &state->mean.lo, &state->magnitude, &state->travelled,
                            &state->moment,  &trial->sum,     &trial->mean,      &trial->error};
    double *const squares[] = {&state->spread.hi,        &state->spread.lo,  &state->square, &state->square_travelled,
                               &state->spread_travelled, &state->mean_error, &trial->spread, &trial->spread_error};
    for (int i = 0; i < 8; i++) scale_up(sums[i], half, 2);
    for (int i = 0; i < 8; i++) scale_up(squares[i], half, 4);
}

/* What no weight takes away of an observation. */
static void state_mark(const Ewm *self, State *state, double x) {
    const bool finite = isfinite(x), latest_only = !(self->q.hi > 0);
    state->count++;
    if (finite) state->largest = larger(fabs(x), state->largest);
    if (latest_only) state->special = finite ? 0 : x;
    if (!finite && !latest_only) state->special += x; /* inf - inf is NaN */
}

static bool is_observed(const Ewm *self, double x) {
    return self->propagate || !isnan(x);
}

/* On its way along the elements. */
typedef struct Walk {
    State state;
    Errors errors;
    Shares shares;
    size_t begin; /* of the series */
} Walk;

static Walk walk_from_nothing(const Ewm *self) {
    return (Walk){.errors = errors_of(self, 1), .shares = {.trial_weight = NAN, .weight = {NAN, NAN}}};
}

/* To element i. */
static void walk_to(const Ewm *self, Walk *walk, size_t i) {
    State *state = &walk->state;
    if (self->starts && self->starts[i]) {
        *state = (State){0};
        walk->begin = i;
    }
    const double x = vector_load(self->x, self->f32, i);
    if (state->count > 0) state_age(self, state);
    if (!is_observed(self, x)) return;
    const bool first = !(state->weight.hi > 0);
    if (first) *state = forgotten(state);
    if (isfinite(x)) state_rescale(self, state, x, &walk->errors);
    const double finite = isfinite(x) ? x * walk->errors.scale : 0;
    if (first)
        state_begin(self, state, finite, &walk->errors);
    else
        state_observe(self, state, finite, &walk->errors, &walk->shares);
    state_mark(self, state, x);
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
    size_t window;       /* terms that are kept */
    double *kept, *size; /* of every element: State.kept, NaN before the first observation; sum w |x| or the root of sum w x^2,
                            not scaled; NULL for the other bounds */
} Past;

static void past_remember(const Past *past, const Ewm *self, const Walk *walk, size_t i) {
    const State *state = &walk->state;
    const double size = self->agg == EWM_MEAN ? state->magnitude : sqrt(state->square);
    past->kept[i] = state->count == 0 ? NAN : state->kept;
    past->size[i] = state->count == 0 ? 0 : size / walk->errors.scale;
}

static double past_dropped(const Past *past, const Ewm *self, const Walk *walk, size_t i) {
    const State *state = &walk->state;
    const bool mean = self->agg == EWM_MEAN;
    if (i < past->window || i - past->window < walk->begin || isnan(past->kept[i - past->window])) return 0;
    const double share = exp(state->kept - past->kept[i - past->window]);
    if (!(share < 0.5)) return DBL_MAX;
    const double old = (mean ? share : sqrt(share)) * past->size[i - past->window] * walk->errors.scale, about = state->mean.hi;
    if (mean) return 1.01 / (1 - share) * (old + share * fabs(about));
    /* The shares that are left grow by 1 / (1 - share). The bias correction has that twice, as 1 - pairs is a sum of squares. */
    const double left = 1 - share, pairs = state->pairs.hi;
    const double corrected = pairs > 0 ? share * (2 - share) / (left * left) * (1 - pairs) / pairs : 0;
    if (!(corrected < 0.5)) return DBL_MAX;
    return 1.01 / left / (1 - corrected) * ((3 * share + corrected) * state->spread.hi + 2 * share * about * about + 2 * old * old);
}

/* Values and tolerances of elements [first, end), which leave the walk behind them. remember: no walk_alone() has been there. */
static void walk_and_settle(const Ewm *self, Walk *walk, size_t first, size_t end, const Past *past, bool remember,
                            Reference *out) {
    for (size_t i = first; i < end; i++) {
        walk_to(self, walk, i);
        if (past->kept && remember) past_remember(past, self, walk, i);
        const double dropped = past->kept ? past_dropped(past, self, walk, i) : 0;
        settle(self, &walk->state, &walk->errors, dropped, &out->value[i], &out->tolerance[i]);
    }
}

/* Where the last series begins that does in [first, end); `first` if none does. */
static size_t last_start(const Ewm *self, size_t first, size_t end) {
    for (size_t i = end; self->starts && i-- > first;)
        if (self->starts[i]) return i;
    return first;
}

/* Past the elements, of which only what is behind them matters; or the past, which has all of them. */
static void walk_alone(const Ewm *self, Walk *walk, size_t first, size_t end, const Past *past) {
    for (size_t i = past->kept ? first : last_start(self, first, end); i < end; i++) {
        walk_to(self, walk, i);
        if (past->kept) past_remember(past, self, walk, i);
    }
}

/* ---- A long series, on all cores, bit for bit as on one. */

enum { CARRY = 1 << 15 /* elements that one thread carries on at a time */ };

/* One thread goes ahead with the observations alone; the others find values and tolerances where it has been. */
static void run_behind(const Ewm *self, Walk walk, size_t begin, const Past *past, Reference *out) {
#pragma omp parallel
#pragma omp single
    for (size_t first = begin; first < self->n; first += CARRY) {
        const Walk from = walk;
        const size_t end = fewer(first + CARRY, self->n);
        walk_alone(self, &walk, first, end, past);
#pragma omp task firstprivate(from, first, end)
        {
            Walk own = from;
            walk_and_settle(self, &own, first, end, past, false, out);
        }
    }
}

/* A part that is walked beside others, from a run-up that should be long enough to forget what came before, down to the last bit.
 * Whether it was, the bits say: where a block has not begun as the one before it has ended, it is walked again, from there. */
typedef struct Block {
    Walk from, to;
    State marks; /* of its own observations; then of all up to its end */
    bool cut;    /* a series begins in it: only what is marked from there on counts */
    bool done;
} Block;

typedef struct Blocks {
    size_t count, size, run_up;
    Block *all;
} Blocks;

enum {
    RUN_UP = 256, /* in 1 / alpha: an error is remembered MEMORY times as long as an observation */
    RUN_UPS = 8,  /* in a block, if that leaves BLOCKS of them */
    BLOCKS = 64,
    BLOCKS_LEAST = 4,
    BLOCK_LEAST = 1 << 16,
    ROUNDS = 2, /* rounding errors of a ramp, for one, hang on where they began: there no round would be the last */
};

/* None if run-ups would be too long, or if the past is to be remembered, which is in order. */
static Blocks blocks_of(const Ewm *self, const Past *past) {
    const double run_up = RUN_UP / self->alpha.hi, n = (double)self->n;
    if (past->kept || run_up * BLOCKS_LEAST > n) return (Blocks){0};
    const double size = fmax(BLOCK_LEAST, fmin(RUN_UPS * run_up, fmax(run_up, n / BLOCKS)));
    Blocks blocks = {.size = (size_t)size, .run_up = (size_t)run_up};
    blocks.count = (self->n - 1) / blocks.size + 1;
    blocks.all = malloc(blocks.count * sizeof *blocks.all);
    if (!blocks.all) blocks.count = 0;
    return blocks;
}

static void block_mark(const Ewm *self, Block *block, size_t first, size_t end) {
    const size_t from = last_start(self, first, end);
    *block = (Block){.from = walk_from_nothing(self), .cut = self->starts && self->starts[from]};
    for (size_t i = from; i < end; i++) {
        const double x = vector_load(self->x, self->f32, i);
        if (is_observed(self, x)) state_mark(self, &block->marks, x);
    }
}

static void block_join_marks(const Ewm *self, Block *block, const State *before) {
    State *marks = &block->marks;
    const bool replaced = !(self->q.hi > 0) && marks->count > 0;
    if (block->cut) return;
    marks->count += before->count;
    marks->largest = larger(marks->largest, before->largest);
    if (!replaced) marks->special += before->special;
}

static void block_run_up(const Ewm *self, Block *block, size_t first, size_t length, const State *marks) {
    const Past none = {0};
    State *state = &block->from.state;
    walk_alone(self, &block->from, first - length, first, &none);
    state->count = marks->count;
    state->largest = marks->largest;
    state->special = marks->special;
}

/* kept is not compared: only a past has use for it. */
static bool walk_same(const Walk *a, const Walk *b) {
    return memcmp(&a->state, &b->state, offsetof(State, kept)) == 0 && a->errors.scale == b->errors.scale;
}

/* How many blocks, from the first on, are right. */
static size_t blocks_check(const Blocks *self) {
    size_t right = self->count;
    for (size_t b = self->count; --b > 0;) {
        Block *block = &self->all[b];
        if (walk_same(&block->from, &block[-1].to)) continue;
        block->from = block[-1].to;
        block->done = false;
        right = b;
    }
    return right;
}

/* Returns how many blocks are right. */
static size_t run_at_once(const Ewm *self, const Blocks *blocks, Reference *out) {
    const size_t count = blocks->count, size = blocks->size;
    const Past none = {0};
    size_t right = 0;
#pragma omp parallel for schedule(dynamic)
    for (size_t b = 0; b < count; b++) block_mark(self, &blocks->all[b], b * size, fewer((b + 1) * size, self->n));
    for (size_t b = 1; b < count; b++) block_join_marks(self, &blocks->all[b], &blocks->all[b - 1].marks);
    for (int round = 0; round < ROUNDS && right < count; round++) {
#pragma omp parallel for schedule(dynamic)
        for (size_t b = 0; b < count; b++) {
            Block *block = &blocks->all[b];
            if (block->done) continue;
            if (round == 0 && b > 0) block_run_up(self, block, b * size, blocks->run_up, &block[-1].marks);
            block->to = block->from;
            walk_and_settle(self, &block->to, b * size, fewer((b + 1) * size, self->n), &none, false, out);
            block->done = true;
        }
        right = blocks_check(blocks);
    }
    return right;
}

/* What is not right by then is done as one thread goes. */
static void run_long(const Ewm *self, const Past *past, Reference *out) {
    const Blocks blocks = blocks_of(self, past);
    const size_t right = blocks.count > 0 ? run_at_once(self, &blocks, out) : 0, done = fewer(right * blocks.size, self->n);
    const Walk walk = right > 0 ? blocks.all[right - 1].to : walk_from_nothing(self);
    free(blocks.all);
    if (done < self->n) run_behind(self, walk, done, past, out);
}

Status ewm_reference(const Ewm *self, Reference *out) {
    const double window = floor(EWM_TRUNCATED_SPANS * (2 / self->alpha.hi - 1));
    Past past = {.window = window < 0x1p50 ? (size_t)window : (size_t)1 << 50};
    if (self->bound == EWM_TRUNCATED && self->n > 0) {
        past.kept = malloc(self->n * sizeof(double));
        past.size = malloc(self->n * sizeof(double));
    }
    const bool starved = self->bound == EWM_TRUNCATED && self->n > 0 && (!past.kept || !past.size);
    Walk walk = walk_from_nothing(self);
    if (!starved && recurrence_is_long(self->n) && omp_get_max_threads() > 1)
        run_long(self, &past, out);
    else if (!starved)
        walk_and_settle(self, &walk, 0, self->n, &past, true, out);
    free(past.kept);
    free(past.size);
    return starved ? status_fail(STATUS_MEMORY, "ewm reference: no memory for %zu elements", self->n) : STATUS_OK;
}
