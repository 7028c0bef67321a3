/* The sums of discounted_cumsum and how far from them a variant may be; docs/ops/discounted_cumsum.md has the argument. */
#include "discount.h"

#include <float.h>
#include <stdlib.h>

static const void *at(const Discount *self, const void *data, size_t i) {
    return (const char *)data + i * (self->f32 ? sizeof(float) : sizeof(double));
}

/* Of finite elements. */
typedef struct Survey {
    double most, least; /* magnitudes; least: of those that are not 0 */
    bool whole;         /* all are integers */
} Survey;

static Survey survey(const void *data, bool f32, size_t count) {
    double most = 0, least = DBL_MAX;
    bool whole = true;
#pragma omp parallel for schedule(static) reduction(max : most) reduction(min : least) reduction(&& : whole) if (count > 100000)
    for (size_t i = 0; i < count; i++) {
        const double x = fabs(vector_load(data, f32, i));
        if (!(x <= DBL_MAX)) continue;
        most = x > most ? x : most;
        least = x > 0 && x < least ? x : least;
        whole = whole && x == rint(x);
    }
    return (Survey){most, least, whole};
}

/* A power of two that keeps sums clear of the ends of the range of double-double, or 0 if no scale has room for both ends: only f64
 * gets near them. growth: bits that all factors together may add. sinks: what has grown may fade again. */
static double choose_scale(const Survey *x, double terms, double growth, bool sinks) {
    const double top = log2(x->most) + log2(terms + 1) + growth;
    if (top < 350) return x->least < 0x1p-700 || x->most < 0x1p-400 ? 0x1p600 : 1;
    if (x->least < 0x1p-700) return 0;
    return top < 900 ? 1 : sinks ? 0 : 0x1p-200;
}

DiscountFacts discount_facts(const Discount *self, const void *x, size_t first, size_t rows, size_t terms) {
    const bool all = self->gamma_per == GAMMA_ALL;
    const size_t row = self->gamma_per == GAMMA_ELEMENT ? self->n : 1;
    const Survey of_x = survey(at(self, x, first * self->n), self->f32, rows * self->n);
    const Survey factors = survey(all ? self->gamma : at(self, self->gamma, first * row), self->f32, all ? 1 : rows * row);
    /* Bits that all factors together may add to a sum, and take from it where products may come back from far below. */
    const double growth = factors.most > 1 ? (double)terms * log2(factors.most) : 0;
    const double fall = growth > 0 && factors.least < 1 ? (double)terms * -log2(factors.least) : 0;
    const double scale = self->f32 ? 1 : choose_scale(&of_x, (double)terms, growth, fall > 0);
    const bool far = terms <= self->n && fmax(growth, fall) > 400;
    return (DiscountFacts){
        .scale = far || scale == 0 ? 1 : scale,
        .wide = far || scale == 0,
        .unit = factors.least == 1 && factors.most == 1,
        .integral = of_x.whole && factors.whole,
    };
}

RecurrenceLine discount_line(const Discount *self, const DiscountFacts *facts, const void *x, size_t row) {
    RecurrenceLine line = {
        .x = at(self, x, row * self->n),
        .reset = self->reset ? self->reset + row * self->n : NULL,
        .f32 = self->f32,
        .sums = self->sums,
        .backward = self->left == self->adjoint,
        .adjoint = self->adjoint,
        .wide = facts->wide,
        .n = self->n,
        .scale = facts->scale,
        /* What rounds to an infinity of the type of sums. */
        .limit = self->f32           ? narrow_end(narrow_form(self->sums)) * (1 - dtype_unit_roundoff(self->sums) / 2)
                 : facts->scale <= 1 ? 0x1p1023 * facts->scale * 2
                                     : RECURRENCE_SAFE,
    };
    if (self->gamma_per == GAMMA_ELEMENT) {
        line.factors = at(self, self->gamma, row * self->n);
        return line;
    }
    line.factor = dd_from(vector_load(self->gamma, self->f32, self->gamma_per == GAMMA_ROW ? row : 0));
    if (self->unrounded && self->gamma_per == GAMMA_ALL) line.factor = dd_from(self->gamma_written);
    return line;
}

DiscountErrors discount_errors(const Discount *self, const DiscountFacts *facts) {
    const NarrowForm form = narrow_form(self->sums);
    const bool narrow = dtype_is_narrow(self->sums);
    DiscountErrors errors = {
        .u = dtype_unit_roundoff(self->sums),
        .tiny = self->f32 ? ldexp(1, narrow_least(form) - form.fraction_bits) : 0x1p-1074,
        .more = narrow ? 2 : 1.01, /* while the bound is below 1/256 of the magnitude, of narrow types below half of it */
        .most = narrow ? 1 : 0x1p-8,
        .steps = facts->unit ? 1 : 2,
        .depth = discount_depth(self->n),
        .integral = facts->integral,
    };
    if (self->unrounded && self->gamma_per == GAMMA_ALL && self->gamma_written != 0) {
        const double received = vector_load(self->gamma, self->f32, 0);
        errors.drift = fabs((received - self->gamma_written) / self->gamma_written);
    }
    return errors;
}

double discount_rounding(const DiscountErrors *errors, double magnitude, double travelled) {
    const double first_order =
        errors->more *
        (errors->u * (errors->steps * travelled + (errors->depth + errors->border) * magnitude) + errors->drift * travelled);
    const double most = errors->most * magnitude;
    return first_order < most ? first_order : most;
}

double discount_tolerance(const DiscountErrors *errors, const RecurrenceLine *line, const RecurrenceSum *sum, double chance) {
    const double magnitude = sum->magnitude;
    if (sum->kind != KIND_FINITE || sum->carried == 0) return 0;
    if (errors->integral && errors->drift == 0 && magnitude <= line->scale / errors->u) return 0;
    const double first = discount_rounding(errors, magnitude, sum->travelled);
    const double rounding = chance * line->scale < first ? chance * line->scale : first;
    if (rounding == first) {
        bound_term("roundings of every term by its size, u sum 2 j |w x|", errors->u * errors->steps * sum->travelled);
        bound_term("roundings of every term by its size, u d sum |w x|", errors->u * (errors->depth + errors->border) * magnitude);
    }
    if (!line->f32 && line->scale == 1 && rounding > 0x1p-200 && sum->most < 0x1p400 && sum->weight < 1)
        return rounding; /* what follows is nothing beside it, and subnormal numbers are slow */
    /* Products that lose bits among the subnormal numbers, and powers that do before they meet a large sum. */
    const double power_tiny = line->f32 ? errors->tiny : 0x1p-1050, met = fmin(sum->most, DBL_MAX);
    return rounding / line->scale + 2 * (errors->tiny / RECURRENCE_WEIGHT_UNIT) * sum->weight +
           errors->depth * power_tiny / line->scale * met;
}

typedef struct Row {
    RecurrenceLine line;
    DiscountErrors errors;
    double times, *value, *tolerance;
    double *chances; /* discount_window_chances() */
} Row;

static void emit(void *context, size_t element, const RecurrenceSum *sum) {
    const Row *row = context;
    const double value = recurrence_value(&row->line, sum);
    if (row->value) row->value[element] = value;
    if (!row->tolerance) return;
    const double chance = row->chances ? row->chances[element] : INFINITY;
    const double tolerance = isfinite(value) ? row->times * discount_tolerance(&row->errors, &row->line, sum, chance) : 0;
    row->tolerance[element] = tolerance < DBL_MAX ? tolerance : DBL_MAX;
    bound_terms_settle(&row->tolerance[element]);
}

static Status row_sums(Row *row, size_t terms) {
    const RecurrenceLine *line = &row->line;
    const bool window = terms <= line->n, f32 = line->f32;
    /* The end of a block is summed from its border outwards: a term near the border meets all that come after it. Floats have
     * doubles for that. */
    if (window && (!f32 || dtype_is_narrow(line->sums))) row->errors.border = (double)terms;
    if (window && row->tolerance) TRY(discount_window_chances(&row->errors, line, terms, row->tolerance, &row->chances));
    const Status status = recurrence_run(line, terms, emit, row);
    if (status == STATUS_OK && !window && row->value && row->tolerance)
        discount_sharpen(&row->errors, line, row->value, row->tolerance, NULL);
    free(row->chances);
    return status;
}

Status discount_sums(const Discount *self, const void *x, size_t terms, DiscountBound bound, double *value, double *tolerance) {
    Status status = STATUS_OK;
#pragma omp parallel for schedule(dynamic) if (!recurrence_is_long(self->n))
    for (size_t b = 0; b < self->batch; b++) {
        const size_t first = b * self->n;
        const DiscountFacts facts = discount_facts(self, x, b, 1, terms); /* a row of small numbers beside one of large ones */
        Row row = {.line = discount_line(self, &facts, x, b),
                   .errors = discount_errors(self, &facts),
                   .times = bound == DISCOUNT_DIFFERENCE ? 2 : 1,
                   .value = value ? value + first : NULL,
                   .tolerance = tolerance ? tolerance + first : NULL};
        const Status of_row = row_sums(&row, terms);
        if (of_row != STATUS_OK) {
#pragma omp atomic write
            status = of_row;
        }
    }
    /* The message stayed with the thread that failed. */
    return status == STATUS_OK ? status : status_fail(status, "reference of %zu rows of %zu: no memory", self->batch, self->n);
}
