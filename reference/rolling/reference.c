/* The reference of `rolling`: values by exact sums that slide (fixed.h) and by windows.h, tolerances from bounds.c; NaN and
 * infinities are settled here. */
#include "rolling.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* See RollingSums. 62 bits, so that an element and its square, of either sign, have room; powers of two that are normal. */
static double units_of(const RollingProblem *problem) {
    const bool few = problem->most < problem->least + 62, normal = abs(problem->least) < 1000;
    return few && normal ? ldexp(1, -problem->least) : 0;
}

static inline void take(RollingSums *self, size_t i, bool leaves) {
    const double x = rolling_finite(self->problem, i);
    const bool squares = rolling_is_spread(self->problem);
    if (self->units > 0) {
        const int64_t units = (int64_t)(x * self->units);
        fixed_add_units(&self->sum, leaves ? -units : units);
        if (squares) fixed_add_units(&self->squares, (__int128)(leaves ? -units : units) * units);
    } else {
        fixed_add(&self->sum, x, leaves);
        if (squares) fixed_add_square(&self->squares, x, leaves);
    }
}

RollingSums rolling_sums_before(const RollingProblem *problem, size_t first) {
    RollingSums self = {.problem = problem, .units = units_of(problem), .sum = fixed_zero(problem->least, problem->most)};
    if (rolling_is_spread(problem)) self.squares = fixed_zero(2 * problem->least, 2 * problem->most + 1);
    for (size_t i = first > problem->window ? first - problem->window : 0; i < first; i++) take(&self, i, false);
    return self;
}

/* To the window that ends at i, from the one before. */
static void sums_advance(RollingSums *self, size_t i) {
    take(self, i, false);
    if (i >= self->problem->window) take(self, i - self->problem->window, true);
}

/* The aggregate, for a full window; rounding it to double is rounding the exact value. */
static long double sums_value(const RollingSums *self) {
    const size_t w = self->problem->window;
    if (!rolling_is_spread(self->problem)) return fixed_mean(&self->sum, self->problem->agg == ROLLING_MEAN ? w : 1);
    return w > 1 ? fixed_variance(&self->sum, &self->squares, w, self->problem->agg == ROLLING_STD) : (long double)NAN;
}

/* The same, rounded to double. Not of a spread. */
static double sums_rounded(const RollingSums *self) {
    return fixed_mean_rounded(&self->sum, self->problem->agg == ROLLING_MEAN ? self->problem->window : 1);
}

long double rolling_sums_variance(const RollingSums *self) {
    return self->problem->window > 1 ? fixed_variance(&self->sum, &self->squares, self->problem->window, false) : 0;
}

/* Of a spread: sum x^2 / (w - 1). */
static long double sums_square(const RollingSums *self) {
    return self->problem->window > 1 ? fixed_mean(&self->squares, self->problem->window - 1) : 0;
}

enum { NOT_A_NUMBER, PLUS_INF, MINUS_INF, SPECIALS };

/* Where the latest special elements are: last[k] is the index of the latest of kind k, -1 before the first. */
typedef struct Specials {
    int64_t last[SPECIALS];
} Specials;

typedef struct Facts {
    int least, most; /* see RollingProblem */
    bool one_sign;
    Specials *before; /* at the beginning of every block; NULL: all elements are finite */
} Facts;

static void specials_see(Specials *self, double x, size_t i) {
    if (isnan(x)) self->last[NOT_A_NUMBER] = (int64_t)i;
    if (isinf(x)) self->last[x > 0 ? PLUS_INF : MINUS_INF] = (int64_t)i;
}

static size_t block_count(size_t n) {
    return (n + WINDOW_BLOCK - 1) / WINDOW_BLOCK;
}

/* One pass over the input. */
static Status facts_collect(const WindowInput *input, Facts *out) {
    const size_t n = input->n, blocks = block_count(n);
    Specials *in_block = malloc((blocks + 1) * sizeof *in_block);
    if (!in_block) return status_fail(STATUS_MEMORY, "rolling reference: no memory for %zu blocks", blocks);
    int least = INT_MAX, most = INT_MIN;
    bool finite = true, positive = false, negative = false;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most) reduction(&& : finite) \
    reduction(|| : positive, negative)
    for (size_t b = 0; b < blocks; b++) {
        Specials seen = {{-1, -1, -1}};
        const size_t end = (b + 1) * WINDOW_BLOCK < n ? (b + 1) * WINDOW_BLOCK : n;
        for (size_t i = b * WINDOW_BLOCK; i < end; i++) {
            const double x = window_element(input, i);
            if (isfinite(x)) {
                if (x == 0) continue;
                positive = positive || x > 0;
                negative = negative || x < 0;
                const int low = fixed_low_bit(x), high = fixed_high_bit(x);
                least = low < least ? low : least;
                most = high > most ? high : most;
            } else {
                finite = false;
                specials_see(&seen, x, i);
            }
        }
        in_block[b] = seen;
    }
    /* From "latest within the block" to "latest before the block". */
    Specials running = {{-1, -1, -1}};
    for (size_t b = 0; b < blocks; b++) {
        const Specials seen = in_block[b];
        in_block[b] = running;
        for (int k = 0; k < SPECIALS; k++)
            if (seen.last[k] >= 0) running.last[k] = seen.last[k];
    }
    if (finite) {
        free(in_block);
        in_block = NULL;
    }
    const bool any = least <= most;
    *out = (Facts){any ? least : 0, any ? most : 0, !(positive && negative), in_block};
    return STATUS_OK;
}

/* Replaces the output for a window from `from` on if it holds NaN or inf. */
static void settle_special(const RollingProblem *problem, const Specials *seen, int64_t from, double *value) {
    const bool nan = seen->last[NOT_A_NUMBER] >= from, plus = seen->last[PLUS_INF] >= from, minus = seen->last[MINUS_INF] >= from;
    if (!nan && !plus && !minus) return;
    if (rolling_is_extreme(problem) && !nan) return; /* infinities are ordinary values there */
    *value = nan || rolling_is_spread(problem) || (plus && minus) ? NAN : plus ? INFINITY : -INFINITY;
}

/* A value beyond the dtype's range is the infinity that rounding to the dtype gives. */
static double in_range(const RollingProblem *problem, double value) {
    return problem->input.f32 && fabs(value) >= 0x1.ffffffp127 ? copysign(INFINITY, value) : value;
}

/* Of a spread, exactly. */
typedef struct Spread {
    long double variance, square;
} Spread;

typedef struct Workspace {
    WindowScratch scratch;
    WindowRow extremes, conditions[ROLLING_CONDITIONS];
    Spread spreads[WINDOW_BLOCK];
    RollingSums sums;
} Workspace;

typedef struct Plans {
    WindowPlan extremes, conditions[ROLLING_CONDITIONS];
    int condition_count;
    RollingTrials trials;
} Plans;

/* Values of a block's windows, as if all of them were full and finite. */
static void block_values(const RollingProblem *problem, const Plans *plans, Workspace *work, size_t first, size_t count,
                         double *value) {
    if (rolling_is_extreme(problem)) {
        window_compute(&plans->extremes, &work->scratch, first, count, &work->extremes);
        memcpy(&value[first], work->extremes.extreme, count * sizeof *value);
        return;
    }
    for (size_t k = 0; k < count; k++) {
        sums_advance(&work->sums, first + k);
        if (!rolling_is_spread(problem)) {
            value[first + k] = in_range(problem, sums_rounded(&work->sums));
        } else if (first + k + 1 >= problem->window) {
            const long double exact = sums_value(&work->sums);
            value[first + k] = in_range(problem, (double)exact);
            work->spreads[k] =
                (Spread){problem->agg == ROLLING_VAR ? exact : rolling_sums_variance(&work->sums), sums_square(&work->sums)};
        }
    }
}

/* Instead: of windows that are not full, or that hold NaN or inf. */
static void block_exceptions(const RollingProblem *problem, const Facts *facts, size_t first, size_t count, double *value) {
    for (size_t i = first; i < first + count && i + 1 < problem->window; i++) value[i] = problem->incomplete;
    if (!facts->before) return;
    Specials seen = facts->before[first / WINDOW_BLOCK];
    for (size_t i = first; i < first + count; i++) {
        specials_see(&seen, window_element(&problem->input, i), i);
        if (i + 1 >= problem->window) settle_special(problem, &seen, (int64_t)(i + 1 - problem->window), &value[i]);
    }
}

/* Where values are numbers; a value that is not has no error. */
static void block_tolerances(const RollingProblem *problem, const Plans *plans, Workspace *work, size_t first, size_t count,
                             Reference *out) {
    for (size_t i = first; i < first + count; i++) out->tolerance[i] = 0;
    if (rolling_is_extreme(problem)) return;
    for (int c = 0; c < plans->condition_count; c++)
        window_compute(&plans->conditions[c], &work->scratch, first, count, &work->conditions[c]);
    size_t i = first + 1 < problem->window ? problem->window - 1 : first;
    while (i < first + count) {
        size_t until;
        const double excess = rolling_trials_near(&plans->trials, problem, i, &until);
        const size_t end = until < first + count ? until : first + count;
        if (!rolling_is_spread(problem)) {
            rolling_sum_tolerances(problem, i, end - i, excess, plans->condition_count > 0 ? &work->conditions[0] : NULL, i - first,
                                   out);
            i = end;
        }
        for (; i < end; i++) {
            if (!isfinite(out->value[i])) continue;
            const Spread *spread = &work->spreads[i - first];
            const RollingFacts of = {out->value[i], spread->variance, spread->square, excess};
            out->tolerance[i] = rolling_spread_tolerance(problem, i, &of, work->conditions, i - first);
            bound_terms_settle(&out->tolerance[i]);
        }
    }
}

static void settle_block(const RollingProblem *problem, const Plans *plans, const Facts *facts, Workspace *work, size_t block,
                         Reference *out) {
    const size_t first = block * WINDOW_BLOCK, n = problem->input.n;
    const size_t count = n - first < WINDOW_BLOCK ? n - first : WINDOW_BLOCK;
    block_values(problem, plans, work, first, count, out->value);
    block_exceptions(problem, facts, first, count, out->value);
    block_tolerances(problem, plans, work, first, count, out);
}

/* Stretches of several windows, so that hardly more elements enter a stretch's first window than are in it. */
static Status settle_all(const RollingProblem *problem, const Plans *plans, const Facts *facts, Reference *out) {
    const size_t blocks = block_count(problem->input.n), stretch = block_count(2 * problem->window);
    bool failed = false;
#pragma omp parallel
    {
        Workspace *work = calloc(1, sizeof *work);
        if (!work) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic)
        for (size_t from = 0; from < blocks; from += stretch) {
            if (!work) continue;
            if (!rolling_is_extreme(problem)) work->sums = rolling_sums_before(problem, from * WINDOW_BLOCK);
            for (size_t b = from; b < blocks && b < from + stretch; b++) settle_block(problem, plans, facts, work, b, out);
        }
        free(work);
    }
    return failed ? status_fail(STATUS_MEMORY, "rolling reference: no memory for a thread's buffers") : STATUS_OK;
}

static Status plan_and_settle(RollingProblem *problem, const Facts *facts, Reference *out) {
    Plans plans = {0};
    Status status = rolling_trials_run(problem, &plans.trials);
    if (status == STATUS_OK && rolling_is_extreme(problem))
        status = window_plan(&problem->input, problem->agg == ROLLING_MIN ? WINDOW_MIN : WINDOW_MAX, problem->window, 0,
                             &plans.extremes);
    if (status == STATUS_OK) status = rolling_conditions(problem, plans.conditions, &plans.condition_count);
    if (status == STATUS_OK) status = settle_all(problem, &plans, facts, out);
    rolling_trials_free(&plans.trials);
    window_plan_free(&plans.extremes);
    for (int c = 0; c < ROLLING_CONDITIONS; c++) window_plan_free(&plans.conditions[c]);
    return status;
}

Status rolling_reference(const Case *problem, const Array *x, int bound, Reference *out) {
    RollingProblem self = {
        .agg = (RollingAgg)params_choice(&problem->params, "agg"),
        .bound = (RollingBound)bound,
        .window = (size_t)params_int(&problem->params, "window"),
        .incomplete = params_choice(&problem->params, "incomplete") == 0 ? NAN : INFINITY,
        .input = {x->data, problem->dtype == DTYPE_F32, array_count(x)},
    };
    if (self.window > self.input.n) {
        for (size_t i = 0; i < self.input.n; i++) {
            out->value[i] = self.incomplete;
            out->tolerance[i] = 0;
        }
        return STATUS_OK;
    }
    Facts facts;
    TRY(facts_collect(&self.input, &facts));
    self.least = facts.least;
    self.most = facts.most;
    self.integral = facts.least >= 0;
    self.one_sign = facts.one_sign;
    const Status status = plan_and_settle(&self, &facts, out);
    free(facts.before);
    return status;
}
