/* What a sum of all terms may be off by, from the magnitudes that occur on the way; docs/ops/discounted_cumsum.md has the argument.
 *
 * The magnitude s and the distances t behind the first bound take every term by its size. But an addition rounds what has been
 * added up, and that is a part of the row's own sums: no larger than twice the largest of them. Roundings differ in sign, or the
 * plain recurrence shows by how much they do not. */
#include "discount.h"
#include "levels.h"

#include <stdlib.h>

enum { BLOCK = 1 << 16 };

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
    run->plain = recurrence_rounded(x + recurrence_rounded(factor * run->plain, f32), f32);
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

/* A row, and what becomes of its elements. */
typedef struct Row {
    const DiscountErrors *errors;
    const RecurrenceLine *line;
    const double *value, *y; /* y: of the element that is read first */
    ptrdiff_t step_of_y;
    double *tolerance;
    DiscountPart *parts; /* may be NULL */
} Row;

/* What one element leaves for the next. */
typedef struct Walk {
    Running run;
    DiscountLevels levels;
} Walk;

/* To position p. False: the sum there is not finite, and so are all up to the next cut. */
static bool walk_to(const Row *row, Walk *walk, size_t p, bool passes, double *level) {
    const RecurrenceLine *line = row->line;
    const double sum = row->value[recurrence_element(line, p)];
    const RecurrenceStep step = recurrence_step(line, p);
    if (step.factor.hi == 0) walk->run = (Running){0};
    if (!isfinite(sum)) {
        walk->run = (Running){0};
        walk->levels.since = 0;
        return false;
    }
    advance(&walk->run, step.x / line->scale, step.factor.hi, sum, line->f32);
    *level = INFINITY;
    if (line->factors) return true;
    if (passes)
        discount_levels_pass(&walk->levels, row->y, p, row->step_of_y, step.factor.hi);
    else
        *level = discount_levels_take(&walk->levels, row->y, p, row->step_of_y, step.factor.hi);
    return true;
}

static void sharpen_part(const Row *row, Walk walk, size_t first, size_t end) {
    const DiscountErrors *errors = row->errors;
    const Running *run = &walk.run;
    for (size_t p = first; p < end; p++) {
        const size_t i = recurrence_element(row->line, p);
        double *tolerance = &row->tolerance[i], level;
        const bool finite = walk_to(row, &walk, p, false, &level);
        if (!finite && row->parts) row->parts[i] = (DiscountPart){0};
        if (!finite) continue;
        DiscountPart part = by_occurrence(run, errors, level);
        const double most = discount_rounding(errors, run->size, run->travel), sharp = part.random + part.powers + 4 * run->error;
        const double surely = most * (1 - 0x1p-30);                               /* the plain arithmetic here is off by less */
        if (*tolerance >= surely && sharp < surely) *tolerance -= surely - sharp; /* what underflow costs stays */
        if (sharp < surely) name_terms(run, errors, level, &part, tolerance);
        part.underflow = larger(*tolerance - (sharp < surely ? sharp : surely), 0);
        if (row->parts) row->parts[i] = part;
    }
}

/* Of a long row one thread finds what is carried into each block; most of the work is done from there, by all. */
static void sharpen_blocks(const Row *row, Walk walk, Walk *into) {
    const size_t n = row->line->n, blocks = (n + BLOCK - 1) / BLOCK;
    double level;
    for (size_t p = 0; p < n; p++) {
        if (p % BLOCK == 0) into[p / BLOCK] = walk;
        (void)walk_to(row, &walk, p, true, &level);
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t b = 0; b < blocks; b++) sharpen_part(row, into[b], b * BLOCK, b + 1 < blocks ? (b + 1) * BLOCK : n);
}

bool discount_sharpen(const DiscountErrors *errors, const RecurrenceLine *line, const double *value, double *tolerance,
                      DiscountPart *parts) {
    if (errors->drift > 0 || line->wide) return false;
    const Row row = {.errors = errors,
                     .line = line,
                     .value = value,
                     .y = value + (line->n > 0 ? recurrence_element(line, 0) : 0),
                     .step_of_y = line->backward ? -1 : 1,
                     .tolerance = tolerance,
                     .parts = parts};
    Walk walk = {.run = {0}}, *into = recurrence_is_long(line->n) ? malloc((line->n / BLOCK + 1) * sizeof *into) : NULL;
    discount_levels_begin(&walk.levels, line->factor.hi, line->n);
    if (into)
        sharpen_blocks(&row, walk, into);
    else
        sharpen_part(&row, walk, 0, line->n); /* also where there is no memory for blocks */
    free(into);
    return true;
}
