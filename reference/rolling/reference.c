/* The reference of `rolling`: values from values.c and windows.h, tolerances from bounds.c, NaN and infinities settled here. */
#include "rolling.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { NOT_A_NUMBER, PLUS_INF, MINUS_INF, SPECIALS };

/* Where the latest special elements are: last[k] is the index of the latest of kind k, -1 before the first. */
typedef struct Specials {
    int64_t last[SPECIALS];
} Specials;

typedef struct Facts {
    int least, most;  /* see RollingProblem */
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
    bool finite = true;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most) reduction(&& : finite)
    for (size_t b = 0; b < blocks; b++) {
        Specials seen = {{-1, -1, -1}};
        const size_t end = (b + 1) * WINDOW_BLOCK < n ? (b + 1) * WINDOW_BLOCK : n;
        for (size_t i = b * WINDOW_BLOCK; i < end; i++) {
            const double x = window_element(input, i);
            if (isfinite(x)) {
                if (x == 0) continue;
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
    *out = least <= most ? (Facts){least, most, in_block} : (Facts){0, 0, in_block};
    return STATUS_OK;
}

/* The output for a window from `from` on if it holds NaN or inf: *value is replaced and true returned. */
static bool settle_special(const RollingProblem *problem, const Specials *seen, int64_t from, double *value) {
    const bool nan = seen->last[NOT_A_NUMBER] >= from, plus = seen->last[PLUS_INF] >= from, minus = seen->last[MINUS_INF] >= from;
    if (!nan && !plus && !minus) return false;
    if (rolling_is_extreme(problem) && !nan) return false; /* infinities are ordinary values there */
    *value = nan || rolling_is_spread(problem) || (plus && minus) ? NAN : plus ? INFINITY : -INFINITY;
    return true;
}

/* A value beyond the dtype's range is the infinity that rounding to the dtype gives. */
static double in_range(const RollingProblem *problem, double value) {
    return problem->input.f32 && fabs(value) >= 0x1.ffffffp127 ? copysign(INFINITY, value) : value;
}

typedef struct Workspace {
    WindowScratch scratch;
    Part extremes[WINDOW_BLOCK];
    Part conditions[ROLLING_CONDITIONS][WINDOW_BLOCK];
    RollingSums sums;
} Workspace;

typedef struct Plans {
    WindowPlan extremes, conditions[ROLLING_CONDITIONS];
    int condition_count;
    RollingTrials trials;
} Plans;

/* The value of a full window of numbers, and its tolerance. */
static void settle_finite(const RollingProblem *problem, const Plans *plans, const Workspace *work, const RollingSums *sums,
                          size_t i, double *value, double *tolerance) {
    const size_t k = i % WINDOW_BLOCK;
    if (rolling_is_extreme(problem)) {
        *value = (double)work->extremes[k].a;
        return;
    }
    const long double exact = rolling_sums_value(sums);
    *value = in_range(problem, (double)exact);
    if (!isfinite(*value)) return;
    RollingFacts facts = {.value = *value, .excess = rolling_trials_near(&plans->trials, problem, i)};
    if (rolling_is_spread(problem)) {
        facts.variance = problem->agg == ROLLING_VAR ? exact : rolling_sums_variance(sums);
        facts.square = rolling_sums_square(sums);
    }
    const Part conditions[ROLLING_CONDITIONS] = {work->conditions[0][k], work->conditions[1][k]};
    *tolerance = rolling_tolerance(problem, i, &facts, conditions);
    bound_terms_settle(tolerance);
}

static void settle_block(const RollingProblem *problem, const Plans *plans, const Facts *facts, Workspace *work, size_t block,
                         Reference *out) {
    const size_t first = block * WINDOW_BLOCK, n = problem->input.n;
    const size_t count = n - first < WINDOW_BLOCK ? n - first : WINDOW_BLOCK;
    if (rolling_is_extreme(problem)) window_compute(&plans->extremes, &work->scratch, first, count, work->extremes);
    for (int c = 0; c < plans->condition_count; c++)
        window_compute(&plans->conditions[c], &work->scratch, first, count, work->conditions[c]);
    Specials seen = facts->before ? facts->before[block] : (Specials){{-1, -1, -1}};
    for (size_t i = first; i < first + count; i++) {
        if (facts->before) specials_see(&seen, window_element(&problem->input, i), i);
        if (!rolling_is_extreme(problem)) rolling_sums_advance(&work->sums, i);
        out->tolerance[i] = 0;
        if (i + 1 < problem->window)
            out->value[i] = problem->incomplete;
        else if (!settle_special(problem, &seen, (int64_t)(i + 1 - problem->window), &out->value[i]))
            settle_finite(problem, plans, work, &work->sums, i, &out->value[i], &out->tolerance[i]);
    }
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
    const Status status = plan_and_settle(&self, &facts, out);
    free(facts.before);
    return status;
}
