/* What a sum of all terms may be off by, from the magnitudes that occur on the way; docs/ops/discounted_cumsum.md has the argument.
 *
 * The magnitude s and the distances t behind the first bound take every term by its size. But an addition rounds what has been
 * added up, and that is a part of the row's own sums: no larger than twice the largest of them. Roundings differ in sign, or the
 * plain recurrence shows by how much they do not. */
#include "discount.h"
#include "levels.h"

/* Of the elements read so far, discounted to the present one. */
typedef struct Running {
    double sum;           /* the reference; 0 before the first */
    double size, travel;  /* s, t */
    double most;          /* the largest |sum| */
    double sums, squares; /* of all |sums|, of their squares */
    double signed_travel; /* sum j w_j x_j, and the largest of it */
    double most_travel;
    double plain, error; /* the recurrence in the dtype, and the most that it was off by */
} Running;

static double rounded(double value, bool f32) {
    return f32 ? (double)(float)value : value;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static void advance(Running *run, double x, double factor, double sum, bool f32) {
    const double size = fabs(factor);
    run->signed_travel = factor * (run->signed_travel + run->sum);
    run->most_travel = larger(fabs(run->signed_travel), size * run->most_travel);
    run->travel = size * (run->travel + run->size);
    run->size = fabs(x) + size * run->size;
    run->sum = sum;
    run->most = larger(fabs(sum), size * run->most);
    run->squares = sum * sum + size * size * run->squares;
    run->sums = fabs(sum) + size * run->sums;
    run->plain = rounded(x + rounded(factor * run->plain, f32), f32);
    run->error = larger(fabs(run->plain - sum), size * run->error);
}

/* 3 sqrt(sum of squares) of what is rounded: the recurrence's sums, and the parts of d levels. Where factors differ, no part is
 * larger than 2 R, and those of a level are s together. Powers by products err alike for all terms, in proportion to their
 * distance. level: from discount_levels_take(). */
static DiscountPart by_occurrence(const Running *run, const DiscountErrors *errors, double level) {
    const double most = sqrt(2 * run->most) * sqrt(errors->steps * run->sums + errors->depth * run->size);
    const double known = sqrt(DISCOUNT_ALIGNED * (errors->steps * run->squares + errors->depth * level));
    const double parts = run->squares > 0x1p-900 && known < most ? known : most; /* squares may have underflown */
    const double powers = errors->steps > 1 ? 0.5 * errors->u : 0;
    return (DiscountPart){.random = errors->u * (3 * parts + 2 * fabs(run->sum)),
                          .powers = powers * run->most_travel,
                          .powers_signed = powers * run->signed_travel};
}

static void name_terms(const Running *run, const DiscountErrors *errors, double level, const DiscountPart *part,
                       const double *tolerance) {
    if (!bound_terms_wanted) return;
    const bool known = level < INFINITY;
    const double plain = known ? run->squares : 2 * run->most * run->sums, levels = known ? level : 2 * run->most * run->size;
    bound_terms_forget();
    bound_term(DISCOUNT_TERM_PLAIN, 3 * errors->u * sqrt(DISCOUNT_ALIGNED * errors->steps * plain));
    bound_term(DISCOUNT_TERM_LEVELS, 3 * errors->u * sqrt(DISCOUNT_ALIGNED * errors->depth * levels));
    bound_term(DISCOUNT_TERM_POWERS, part->powers);
    bound_term(DISCOUNT_TERM_TRIAL, 4 * run->error);
    bound_terms_settle(tolerance);
}

bool discount_sharpen(const DiscountErrors *errors, const RecurrenceLine *line, const double *value, double *tolerance,
                      DiscountPart *parts) {
    Running run = {0};
    DiscountLevels levels;
    if (errors->drift > 0 || line->wide) return false;
    const ptrdiff_t step_of_y = line->backward ? -1 : 1;
    const double *y = value + (line->n > 0 ? recurrence_element(line, 0) : 0);
    discount_levels_begin(&levels, line->factor.hi, line->n);
    for (size_t p = 0; p < line->n; p++) {
        const size_t i = recurrence_element(line, p);
        const RecurrenceStep step = recurrence_step(line, p);
        if (step.factor.hi == 0) run = (Running){0};
        if (!isfinite(value[i])) {
            run = (Running){0};
            levels.since = 0;
            if (parts) parts[i] = (DiscountPart){0};
            continue; /* so are all up to the next cut */
        }
        advance(&run, step.x / line->scale, step.factor.hi, value[i], line->f32);
        const double level = line->factors ? INFINITY : discount_levels_take(&levels, y, p, step_of_y, step.factor.hi);
        DiscountPart part = by_occurrence(&run, errors, level);
        const double first = discount_rounding(errors, run.size, run.travel), sharp = part.random + part.powers + 4 * run.error;
        const double surely = first * (1 - 0x1p-30);                                  /* the plain arithmetic here is off by less */
        if (tolerance[i] >= surely && sharp < surely) tolerance[i] -= surely - sharp; /* what underflow costs stays */
        if (sharp < surely) name_terms(&run, errors, level, &part, &tolerance[i]);
        part.underflow = larger(tolerance[i] - (sharp < surely ? sharp : surely), 0);
        if (parts) parts[i] = part;
    }
    return true;
}
