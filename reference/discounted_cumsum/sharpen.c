/* What a sum of all terms may be off by, from the magnitudes that occur on the way; docs/ops/discounted_cumsum.md has the argument.
 *
 * The magnitude s and the distances t behind the first bound take every term by its size. But an addition rounds what has been
 * added up, and that is a part of the row's own sums: no larger than twice the largest of them. Roundings differ in sign, or the
 * plain recurrence shows by how much they do not. */
#include "discount.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, SHORTEST = 32 /* terms of a window; below, few things are rounded */, LEVELS = 24 /* 4^24 elements */ };

/* How large the parts are that trees and blocks of a row's sums add up: stretches of 1, 4, 16, ... elements, by the sums that
 * occur. A part that ends at p is y[p] - factor^h y[p-h]. How a variant aligns its parts is not known: the mean over all alignments
 * counts.
 *
 * Of one row whose factor is the same for all elements; zeroed before the first. */
typedef struct Levels {
    int count;
    double power[LEVELS];  /* factor^(4^k) */
    double square[LEVELS]; /* of parts of 4^k elements, one ending at each element, weighted and added up */
    double weight;         /* sum of the squares of the weights */
    size_t since;          /* elements since the latest cut */
} Levels;

static void levels_begin(Levels *self, double factor, size_t n) {
    *self = (Levels){.count = 1, .power = {factor}};
    for (size_t length = 4; length < n && self->count < LEVELS; length *= 4)
        self->power[self->count++] = pow(factor, (double)length);
}

/* The sum y[p], behind an element that takes `factor` times what is carried in: 0 cuts. y: from the row's first element on, at a
 * distance of `step` elements. */
static void levels_pass(Levels *self, const double *y, size_t p, ptrdiff_t step, double factor) {
    const double *at = y + (ptrdiff_t)p * step, square = factor * factor;
    if (factor == 0) memset(self->square, 0, sizeof self->square);
    const size_t since = factor == 0 ? 0 : self->since;
    size_t length = 1;
    self->weight = 1 + square * self->weight;
    for (int k = 0; k < self->count; k++, length *= 4) {
        const double part = since >= length ? *at - self->power[k] * at[-(ptrdiff_t)length * step] : *at;
        self->square[k] = part * part + square * self->square[k];
    }
    self->since = since + 1;
}

/* The same; returns the sum of the squares of weighted parts at one level, the mean over all levels. */
static double levels_take(Levels *self, const double *y, size_t p, ptrdiff_t step, double factor) {
    double total = 0, length = 1;
    levels_pass(self, y, p, step, factor);
    for (int k = 0; k < self->count; k++, length *= 4) total += self->square[k] / (length < self->weight ? length : self->weight);
    return total / self->count;
}

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

static double plain_step(double plain, double x, double factor, const RecurrenceLine *line) {
    return recurrence_rounded(x + recurrence_rounded(factor * plain, line), line);
}

/* Before the sum becomes that of the element. */
static void travel_on(Running *run, double factor) {
    run->signed_travel = factor * (run->signed_travel + run->sum);
    run->most_travel = larger(fabs(run->signed_travel), fabs(factor) * run->most_travel);
}

static void advance(Running *run, double x, double factor, double sum, const RecurrenceLine *line) {
    const double size = fabs(factor);
    travel_on(run, factor);
    run->travel = size * (run->travel + run->size);
    run->size = fabs(x) + size * run->size;
    run->sum = sum;
    run->most = larger(fabs(sum), size * run->most);
    run->squares = sum * sum + size * size * run->squares;
    run->sums = fabs(sum) + size * run->sums;
    run->plain = plain_step(run->plain, x, factor, line);
    run->error = larger(fabs(run->plain - sum), size * run->error);
}

/* 3 sqrt(sum of squares) of what is rounded: the recurrence's sums, and the parts of d levels. Where factors differ, no part is
 * larger than 2 R, and those of a level are s together. Powers by products err alike for all terms, in proportion to their
 * distance. level: from levels_take(). */
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
    Levels levels;
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
    advance(&walk->run, step.x / line->scale, step.factor.hi, sum, line);
    *level = INFINITY;
    if (line->factors) return true;
    if (passes)
        levels_pass(&walk->levels, row->y, p, row->step_of_y, step.factor.hi);
    else
        *level = levels_take(&walk->levels, row->y, p, row->step_of_y, step.factor.hi);
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

/* ---- A long row: what is carried into each of its blocks, so that the most of the work is done from there, by all threads. */

static size_t block_end(size_t n, size_t b) {
    return (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
}

/* What a block makes of what is carried into it. */
typedef struct Through {
    double factor, square; /* product of its factors, behind a cut 0; of their squares */
    double most_travel;    /* of the block, discounted to its end */
} Through;

/* In order, what depends on each element before: the recurrence in the dtype. Also the sums before the blocks, and how far they are
 * from the latest cut. */
static void begin_blocks(const Row *row, Walk walk, Walk *into) {
    const RecurrenceLine *line = row->line;
    for (size_t p = 0; p < line->n; p++) {
        if (p % BLOCK == 0) into[p / BLOCK] = walk;
        const double sum = row->value[recurrence_element(line, p)];
        const RecurrenceStep step = recurrence_step(line, p);
        if (step.factor.hi == 0 || !isfinite(sum)) {
            walk.run.plain = walk.run.sum = 0;
            walk.levels.since = 0;
        }
        if (!isfinite(sum)) continue;
        walk.run.plain = plain_step(walk.run.plain, step.x / line->scale, step.factor.hi, line);
        walk.run.sum = sum;
        walk.levels.since++;
    }
}

/* The block as if no magnitudes were carried into it. */
static Through pass_block(const Row *row, Walk *walk, size_t first, size_t end) {
    Through through = {.factor = 1, .square = 1};
    double level;
    for (size_t p = first; p < end; p++) {
        const double factor = recurrence_step(row->line, p).factor.hi;
        const bool finite = walk_to(row, walk, p, true, &level);
        through.factor *= finite ? factor : 0;
        if (finite) through.square *= factor * factor;
    }
    return through;
}

/* The largest signed_travel of the block, discounted to its end. */
static double most_of_block(const Row *row, Running run, size_t first, size_t end) {
    for (size_t p = first; p < end; p++) {
        const double sum = row->value[recurrence_element(row->line, p)], factor = recurrence_step(row->line, p).factor.hi;
        if (factor == 0 || !isfinite(sum)) run = (Running){0};
        if (isfinite(sum)) travel_on(&run, factor), run.sum = sum;
    }
    return run.most_travel;
}

/* A factor may be too large for a number where nothing is carried. */
static double passed(double factor, double carried) {
    return carried == 0 ? 0 : factor * carried;
}

/* Every magnitude follows a recurrence that is linear, or one of maxima: what a block makes of nothing, and of what is carried in.
 */
static void join(Walk *end, const Through *through, const Walk *in, size_t length) {
    const double factor = through->factor, size = fabs(factor);
    Running *run = &end->run;
    run->travel += passed(size, in->run.travel + (double)length * in->run.size);
    run->size += passed(size, in->run.size);
    run->sums += passed(size, in->run.sums);
    run->squares += passed(size * size, in->run.squares);
    run->signed_travel += passed(factor, in->run.signed_travel);
    run->most = larger(run->most, passed(size, in->run.most));
    run->error = larger(run->error, passed(size, in->run.error));
    end->levels.weight += passed(through->square, in->levels.weight);
    for (int k = 0; k < end->levels.count; k++) end->levels.square[k] += passed(through->square, in->levels.square[k]);
}

/* into, ends, through: one for each block. */
static void carry_blocks(const Row *row, Walk *into, Walk *ends, Through *through) {
    const size_t n = row->line->n, blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(dynamic)
    for (size_t b = 0; b < blocks; b++) {
        ends[b] = into[b];
        through[b] = pass_block(row, &ends[b], b * BLOCK, block_end(n, b));
    }
    for (size_t b = 1; b < blocks; b++) {
        into[b] = ends[b - 1];
        join(&ends[b], &through[b], &into[b], block_end(n, b) - b * BLOCK);
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t b = 0; b < blocks; b++) {
        Running run = into[b].run;
        run.most_travel = 0;
        through[b].most_travel = most_of_block(row, run, b * BLOCK, block_end(n, b));
    }
    into[0].run.most_travel = 0;
    for (size_t b = 1; b < blocks; b++)
        into[b].run.most_travel =
            larger(through[b - 1].most_travel, passed(fabs(through[b - 1].factor), into[b - 1].run.most_travel));
}

/* False: no memory for what is carried. */
static bool sharpen_blocks(const Row *row, const Walk *walk) {
    const size_t n = row->line->n, blocks = (n + BLOCK - 1) / BLOCK;
    Walk *into = malloc(blocks * sizeof *into), *ends = malloc(blocks * sizeof *ends);
    Through *through = malloc(blocks * sizeof *through);
    const bool room = into && ends && through;
    if (room) {
        begin_blocks(row, *walk, into);
        carry_blocks(row, into, ends, through);
#pragma omp parallel for schedule(dynamic)
        for (size_t b = 0; b < blocks; b++) sharpen_part(row, into[b], b * BLOCK, block_end(n, b));
    }
    free(into), free(ends), free(through);
    return room;
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
    Walk walk = {.run = {0}};
    levels_begin(&walk.levels, line->factor.hi, line->n);
    if (!recurrence_is_long(line->n) || !sharpen_blocks(&row, &walk)) sharpen_part(&row, walk, 0, line->n);
    return true;
}

/* ---- What sums of k terms may be off by if errors go both ways, as above for sums of all terms y. A part of a window is
 * y[b] - G y[a], G the product of the factors between, and (y - z)^2 is at most 2 (y^2 + z^2): so the squares of all that is
 * rounded follow from those of y. Windows in which errors go one way, such as behind one large element, are found by trial.
 * docs/ops/discounted_cumsum.md has the argument. */

/* Error of the plain recurrence in the dtype over the window that ends at `last`, from its far end. */
static double trial(const RecurrenceLine *line, size_t terms, size_t last) {
    Dd exact = dd_from(0);
    double plain = 0;
    for (size_t p = last + 1 - terms; p <= last; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        const double x = step.x / line->scale;
        exact = dd_add_double(dd_multiply(exact, step.factor), x);
        plain = plain_step(plain, x, step.factor.hi, line);
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
    Levels levels;
    levels_begin(&levels, line->factor.hi, line->n);
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
        const double level = levels_take(&levels, y, p, 1, factor);
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
