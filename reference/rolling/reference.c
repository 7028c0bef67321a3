/* The reference of `rolling`: values from rolling_windows.h, tolerances from rolling_bounds.c, NaN and infinities settled here. */
#include "rolling.h"

#include <float.h>
#include <stdlib.h>

enum { NOT_A_NUMBER, PLUS_INF, MINUS_INF, SPECIALS };

/* Where the latest special elements are: last[k] is the index of the latest of kind k, -1 before the first. */
typedef struct Specials {
    int64_t last[SPECIALS];
} Specials;

typedef struct Facts {
    double most;      /* the largest finite |x| */
    bool integral;    /* every finite element is an integer */
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
    double most = 0;
    bool integral = true, finite = true;
#pragma omp parallel for schedule(static) reduction(max : most) reduction(&& : integral, finite)
    for (size_t b = 0; b < blocks; b++) {
        Specials seen = {{-1, -1, -1}};
        const size_t end = (b + 1) * WINDOW_BLOCK < n ? (b + 1) * WINDOW_BLOCK : n;
        for (size_t i = b * WINDOW_BLOCK; i < end; i++) {
            const double x = window_element(input, i);
            if (isfinite(x)) {
                most = fabs(x) > most ? fabs(x) : most;
                integral = integral && x == rint(x);
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
    *out = (Facts){most, integral, in_block};
    return STATUS_OK;
}

/* The output for a window from `from` on if it holds NaN or inf: *value is replaced and true returned. */
static bool settle_special(const RollingProblem *problem, const Specials *seen, int64_t from, double *value) {
    const bool nan = seen->last[NOT_A_NUMBER] >= from, plus = seen->last[PLUS_INF] >= from, minus = seen->last[MINUS_INF] >= from;
    if (!nan && !plus && !minus) return false;
    const bool extreme = problem->agg == ROLLING_MIN || problem->agg == ROLLING_MAX;
    if (extreme && !nan) return false; /* infinities are ordinary values there */
    const bool spread = problem->agg == ROLLING_VAR || problem->agg == ROLLING_STD;
    *value = nan || extreme || spread || (plus && minus) ? NAN : plus ? INFINITY : -INFINITY;
    return true;
}

/* A value beyond the dtype's range is the infinity that rounding to the dtype gives. */
static double in_range(const RollingProblem *problem, double value) {
    return problem->input.f32 && fabs(value) >= 0x1.ffffffp127 ? copysign(INFINITY, value) : value;
}

static double finish(const RollingProblem *problem, const Part *whole) {
    const double w = (double)problem->window, scale = problem->input.scale;
    switch (problem->agg) {
    case ROLLING_MEAN:
        return dd_divide_double(whole->a, w).hi / scale;
    case ROLLING_SUM:
        return whole->a.hi / scale;
    case ROLLING_VAR:
        return w > 1 ? dd_divide_double(whole->b, w - 1).hi / scale / scale : NAN;
    case ROLLING_STD:
        return w > 1 ? dd_sqrt(dd_divide_double(whole->b, w - 1)).hi / scale : NAN;
    default:
        return whole->a.hi;
    }
}

typedef struct Workspace {
    WindowScratch scratch;
    Part whole[WINDOW_BLOCK];
    Part conditions[ROLLING_CONDITIONS][WINDOW_BLOCK];
} Workspace;

typedef struct Plans {
    WindowPlan values, conditions[ROLLING_CONDITIONS];
    int condition_count;
} Plans;

static void settle_block(const RollingProblem *problem, const Plans *plans, const Facts *facts, Workspace *work, size_t block,
                         Reference *out) {
    const size_t first = block * WINDOW_BLOCK, n = problem->input.n;
    const size_t count = n - first < WINDOW_BLOCK ? n - first : WINDOW_BLOCK;
    window_compute(&plans->values, &work->scratch, first, count, work->whole);
    for (int c = 0; c < plans->condition_count; c++)
        window_compute(&plans->conditions[c], &work->scratch, first, count, work->conditions[c]);
    Specials seen = facts->before ? facts->before[block] : (Specials){{-1, -1, -1}};
    for (size_t k = 0; k < count; k++) {
        const size_t i = first + k;
        if (facts->before) specials_see(&seen, window_element(&problem->input, i), i);
        double *value = &out->value[i], *tolerance = &out->tolerance[i];
        *tolerance = 0;
        if (i + 1 < problem->window) {
            *value = problem->incomplete;
            continue;
        }
        if (settle_special(problem, &seen, (int64_t)(i + 1 - problem->window), value)) continue;
        const Part conditions[ROLLING_CONDITIONS] = {work->conditions[0][k], work->conditions[1][k]};
        *value = in_range(problem, finish(problem, &work->whole[k]));
        if (isfinite(*value)) *tolerance = rolling_tolerance(problem, i, &work->whole[k], conditions, *value);
    }
}

static Status settle_all(const RollingProblem *problem, const Plans *plans, const Facts *facts, Reference *out) {
    bool failed = false;
#pragma omp parallel
    {
        Workspace *work = calloc(1, sizeof *work);
        if (!work) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic, 8)
        for (size_t b = 0; b < block_count(problem->input.n); b++)
            if (work) settle_block(problem, plans, facts, work, b, out);
        free(work);
    }
    return failed ? status_fail(STATUS_MEMORY, "rolling reference: no memory for a thread's buffers") : STATUS_OK;
}

/* A power of two by which sums of w elements, and of their squares, stay far from overflow and underflow. Elements below 2^-474
 * lose bits, but only beside others above 2^480. */
static double choose_scale(RollingAgg agg, double most) {
    if (agg == ROLLING_MIN || agg == ROLLING_MAX) return 1;
    const bool spread = agg == ROLLING_VAR || agg == ROLLING_STD;
    if (spread && most >= 0x1p480) return 0x1p-600;
    if (spread && most < 0x1p-400) return 0x1p600;
    return most < 0x1p960 ? 1 : 0x1p-64;
}

static WindowKind value_kind(RollingAgg agg) {
    static const WindowKind kinds[] = {[ROLLING_MEAN] = WINDOW_SUM,    [ROLLING_SUM] = WINDOW_SUM, [ROLLING_VAR] = WINDOW_MOMENTS,
                                       [ROLLING_STD] = WINDOW_MOMENTS, [ROLLING_MIN] = WINDOW_MIN, [ROLLING_MAX] = WINDOW_MAX};
    return kinds[agg];
}

static Status plan_and_settle(RollingProblem *problem, const Facts *facts, Reference *out) {
    Plans plans = {0};
    Status status = window_plan(&problem->input, value_kind(problem->agg), problem->window, 0, &plans.values);
    if (status == STATUS_OK) status = rolling_conditions(problem, plans.conditions, &plans.condition_count);
    if (status == STATUS_OK) status = settle_all(problem, &plans, facts, out);
    window_plan_free(&plans.values);
    for (int c = 0; c < ROLLING_CONDITIONS; c++) window_plan_free(&plans.conditions[c]);
    return status;
}

Status rolling_reference(const Case *problem, const Array *x, int bound, Reference *out) {
    RollingProblem self = {
        .agg = (RollingAgg)params_choice(&problem->params, "agg"),
        .bound = (RollingBound)bound,
        .window = (size_t)params_int(&problem->params, "window"),
        .incomplete = params_choice(&problem->params, "incomplete") == 0 ? NAN : INFINITY,
        .input = {x->data, problem->dtype == DTYPE_F32, array_count(x), 1},
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
    self.input.scale = choose_scale(self.agg, facts.most);
    self.integral = facts.integral && self.input.scale == 1;
    const Status status = plan_and_settle(&self, &facts, out);
    free(facts.before);
    return status;
}
