/* What sums of k terms may be off by if errors go both ways, as sharpen.c has it for sums of all terms y. A part of a window is
 * y[b] - G y[a], G the product of the factors between, and (y - z)^2 is at most 2 (y^2 + z^2): so the squares of all that is
 * rounded follow from those of y. Windows in which errors go one way, such as behind one large element, are found by trial.
 * docs/ops/discounted_cumsum.md has the argument. */
#include "discount.h"
#include "levels.h"

#include <stdlib.h>

enum { SHORTEST = 32 /* terms; below, few things are rounded */ };

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Error of the plain recurrence in the dtype over the window that ends at `last`, from its far end. */
static double trial(const RecurrenceLine *line, size_t terms, size_t last) {
    Dd exact = dd_from(0);
    double plain = 0;
    for (size_t p = last + 1 - terms; p <= last; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        const double x = step.x / line->scale;
        exact = dd_add_double(dd_multiply(exact, step.factor), x);
        plain = recurrence_rounded(x + recurrence_rounded(step.factor.hi * plain, line->f32), line->f32);
    }
    return fabs(dd_add_double(dd_negate(exact), plain).hi);
}

/* Windows that begin and end at every stride. */
typedef struct Trials {
    size_t terms, stride, count;
    double *error;
} Trials;

static Trials trials_run(const RecurrenceLine *line, size_t terms) {
    Trials self = {.terms = terms, .stride = terms / 2};
    self.count = (line->n - terms) / self.stride + 1;
    self.error = malloc(self.count * sizeof *self.error);
    for (size_t t = 0; t < self.count && self.error; t++) self.error[t] = trial(line, terms, terms - 1 + t * self.stride);
    return self;
}

/* The largest of those that overlap the window that ends at p. */
static double trials_near(const Trials *self, size_t p) {
    const size_t from = p < 2 * self->terms ? 0 : (p - 2 * self->terms) / self->stride + 1, to = p / self->stride;
    double most = 0;
    for (size_t t = from; t <= to && t < self->count; t++) most = larger(most, self->error[t]);
    return most;
}

/* By position; moment: sum j w_j x_j of all terms. */
static void plain_sums(const RecurrenceLine *line, double *y, double *moment) {
    double sum = 0, travel = 0;
    for (size_t p = 0; p < line->n; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        const double factor = step.cut ? 0 : step.factor.hi;
        travel = step.cut ? 0 : factor * (travel + sum);
        sum = (step.kind == KIND_FINITE ? step.x / line->scale : NAN) + (step.cut ? 0 : factor * sum);
        y[p] = sum;
        moment[p] = travel;
    }
}

static void chances(const DiscountErrors *errors, const RecurrenceLine *line, const Trials *trials, const double *y,
                    const double *moment, const double *tolerance, double *chance) {
    const double k = (double)trials->terms, power = pow(line->factor.hi, k);
    DiscountLevels levels;
    discount_levels_begin(&levels, line->factor.hi, line->n);
    double squares = 0, most = 0, most_moment = 0;
    for (size_t p = 0, since = 0; p < line->n; p++, since++) {
        const RecurrenceStep step = recurrence_step(line, p);
        const double factor = step.cut ? 0 : step.factor.hi, size = fabs(factor);
        if (factor == 0) squares = most = most_moment = 0, since = 0;
        const bool behind = since >= trials->terms;
        const double left = behind ? power * y[p - trials->terms] : 0;
        const double moved = behind ? power * (moment[p - trials->terms] + k * y[p - trials->terms]) : 0;
        squares = y[p] * y[p] + size * size * squares;
        most = larger(fabs(y[p]), size * most);
        most_moment = larger(fabs(moment[p] - moved), size * most_moment);
        const double level = discount_levels_take(&levels, y, p, 1, factor);
        const double serial = errors->steps * 2 * (squares + k * left * left);
        const double border = errors->border > 0 ? 2 * (errors->border * most * most + squares) : 0;
        const double random = 3 * sqrt(DISCOUNT_ALIGNED * (serial + border + errors->depth * level));
        const double powers = errors->steps > 1 ? 0.5 * most_moment : 0;
        const double alike = 4 * trials_near(trials, p), error = errors->u * (random + powers + 2 * fabs(y[p] - left)) + alike;
        const size_t i = recurrence_element(line, p);
        chance[i] = squares > 0x1p-900 ? error : INFINITY; /* squares may have underflown */
        bound_term(DISCOUNT_TERM_PLAIN, 3 * errors->u * sqrt(DISCOUNT_ALIGNED * serial));
        bound_term(DISCOUNT_TERM_BORDER, 3 * errors->u * sqrt(DISCOUNT_ALIGNED * border));
        bound_term(DISCOUNT_TERM_LEVELS, 3 * errors->u * sqrt(DISCOUNT_ALIGNED * errors->depth * level));
        bound_term(DISCOUNT_TERM_POWERS, errors->u * powers);
        bound_term(DISCOUNT_TERM_TRIAL, alike);
        bound_terms_settle(&tolerance[i]);
    }
}

Status discount_window_chances(const DiscountErrors *errors, const RecurrenceLine *line, size_t terms, const double *tolerance,
                               double **out) {
    *out = NULL;
    if (errors->drift > 0 || line->wide || line->factors || terms < SHORTEST) return STATUS_OK;
    double *sums = malloc(2 * line->n * sizeof *sums), *chance = malloc(line->n * sizeof *chance);
    const Trials trials = trials_run(line, terms);
    const bool room = sums && chance && trials.error;
    if (room) {
        plain_sums(line, sums, sums + line->n);
        chances(errors, line, &trials, sums, sums + line->n, tolerance, chance);
        *out = chance;
    } else {
        free(chance);
    }
    free(sums);
    free(trials.error);
    return room ? STATUS_OK : status_fail(STATUS_MEMORY, "reference of discounted sums: no memory for a row of %zu", line->n);
}
