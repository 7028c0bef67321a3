/* dL/dgamma with L = sum dy y. For sums of all terms it is, element by element, what is carried into an element times the gradient
 * that has arrived there: dgamma[i] = dx[i] y[neighbour of i]; a discount of a row or of all rows gets the sum. */
#include "gradient.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* ---- dgamma of a row or of all rows if errors go both ways. In reading order dgamma is the sum of z[p] y[p-1], z = dx, and so is
 * off by sum z[p] dy[p-1] + y[p-1] dz[p]. An error of y[p] that is carried on is G dy[p] at p + d, G the product of the factors
 * between, or less where the sums share less than that. The variance of sum a[p] dy[p] is therefore at most sum over p of r[p]^2
 * |a[p]| (|a[p]| + 2 sum over d of what G a[p+d] has of the sign of a[p]), r[p]^2 the variance of dy[p]. r is seven standard
 * deviations, and so is the root of the sum. docs/ops/discounted_cumsum_grad.md. */

/* What a sum of products of a row, or of rows, may be off by if errors go both ways; in plain doubles. */
typedef struct Chance {
    bool known;
    double variance;       /* of what the factors are off by, times 7^2 */
    double powers;         /* what they are off by alike, with its sign */
    double rest;           /* underflow, and products of errors */
    double trial;          /* the sum as plain recurrences in the dtype give it */
    double chain, partial; /* sum of squares of the partial sums; the sum */
} Chance;

/* One row, by element; parts: of y and dx, as discount_sharpen() has them. */
typedef struct Factors {
    const RecurrenceLine *y_line, *dx_line;
    const double *y, *dx;
    const DiscountPart *y_parts, *dx_parts;
} Factors;
/* Coefficients of errors further on, discounted to here, by their sign. */
typedef struct Ahead {
    double plus, minus;
} Ahead;

static Ahead ahead_step(Ahead ahead, double coefficient, double factor) {
    const double plus = ahead.plus + larger(coefficient, 0), minus = ahead.minus + larger(-coefficient, 0), size = fabs(factor);
    return factor < 0 ? (Ahead){size * minus, size * plus} : (Ahead){size * plus, size * minus};
}

static double variance_of(double deviation, double coefficient, Ahead ahead) {
    const double size = fabs(coefficient), same = coefficient > 0 ? ahead.plus : ahead.minus;
    return deviation * size * (deviation * (size + 2 * same));
}

static void take(Chance *self, const DiscountPart *part, double coefficient, Ahead ahead) {
    self->variance += variance_of(part->random, coefficient, ahead) + variance_of(part->powers, coefficient, ahead);
    self->powers += coefficient * part->powers_signed;
    self->rest += fabs(coefficient) * part->underflow;
}

static double of_both(const DiscountPart *a, const DiscountPart *b) {
    return (a->random + a->powers + a->underflow) * (b->random + b->powers + b->underflow);
}

/* What is carried into position p. */
static double factor_into(const RecurrenceLine *line, size_t p) {
    const RecurrenceStep step = recurrence_step(line, p);
    return step.cut ? 0 : step.factor.hi;
}

/* Errors of dx flow to lower positions. trial[p]: y by the plain recurrence. */
static Chance forwards(const Factors *f, double *trial) {
    Chance self = {.known = true};
    const RecurrenceLine *line = f->y_line;
    Ahead behind = {0, 0};
    double before = 0; /* y[p-1] */
    for (size_t p = 0; p < line->n; p++) {
        const size_t i = recurrence_element(line, p);
        const RecurrenceStep step = recurrence_step(line, p);
        const double factor = step.cut ? 0 : step.factor.hi, coefficient = step.cut ? 0 : before;
        take(&self, &f->dx_parts[i], coefficient, behind);
        behind = ahead_step(behind, coefficient, p + 1 < line->n ? factor_into(line, p + 1) : 0);
        trial[p] = recurrence_rounded(step.x / line->scale + recurrence_rounded(factor * (p > 0 ? trial[p - 1] : 0), line), line);
        self.partial += coefficient * f->dx[i];
        self.chain += self.partial * self.partial;
        if (!step.cut) self.rest += of_both(&f->y_parts[recurrence_element(line, p - 1)], &f->dx_parts[i]);
        before = f->y[i];
    }
    return self;
}

/* Errors of y flow to higher positions; sums from the other end. */
static void backwards(const Factors *f, const double *trial, Chance *self) {
    const RecurrenceLine *line = f->y_line;
    Ahead ahead = {0, 0};
    double after = 0, factor = 0, z = 0, partial = 0, chain = 0; /* dx[p+1], what leads there, the trial's dx[p+1] */
    bool cut = true;
    for (size_t p = line->n; p-- > 0;) {
        const size_t i = recurrence_element(line, p), q = line->n - 1 - p;
        const double coefficient = cut ? 0 : after, dy = recurrence_step(f->dx_line, q).x / f->dx_line->scale;
        take(self, &f->y_parts[i], coefficient, ahead);
        self->trial += cut ? 0 : trial[p] * z;
        partial += coefficient * f->y[i];
        chain += partial * partial;
        z = recurrence_rounded(dy + recurrence_rounded(factor * z, line), line);
        const RecurrenceStep step = recurrence_step(line, p);
        cut = step.cut;
        factor = cut ? 0 : step.factor.hi;
        ahead = ahead_step(ahead, coefficient, factor);
        after = f->dx[i];
    }
    self->chain = larger(self->chain, chain);
}

static Chance chance_add(const Chance *a, const Chance *b) {
    const double partial = a->partial + b->partial;
    return (Chance){.known = a->known && b->known,
                    .variance = a->variance + b->variance,
                    .powers = a->powers + b->powers,
                    .rest = a->rest + b->rest,
                    .trial = a->trial + b->trial,
                    .chain = a->chain + b->chain + partial * partial,
                    .partial = partial};
}

/* The tolerance of a sum in double, without the rounding of the result. size: sum |products|; additions: that a product meets. */
static double chance_error(const Chance *self, double value, double size, double additions) {
    static const double LEAST = 0x1p-300, MOST = 0x1p300; /* squares stay in range */
    static const double SCATTERED = 1.0 / 64;             /* of the sum, which parts that are no stretches of a row may have */
    if (!self->known || !(size >= LEAST && size <= MOST)) return INFINITY;
    const double sums = 3 * 0x1p-53 * (sqrt(self->chain) + sqrt(additions) * SCATTERED * size);
    if (!isfinite(self->variance) || !isfinite(sums)) return INFINITY; /* an infinite dx that meets nothing: 0 times inf */
    bound_terms_forget();
    bound_term("additions of the products, 3 2^-53 sqrt(sum of squares of partial sums)", sums);
    bound_term("roundings of dx and y of either sign", sqrt(self->variance));
    bound_term("powers of the discount that are made by products, u sum a T / 2", fabs(self->powers));
    bound_term("errors of one sign, 4 E", 4 * fabs(self->trial - value));
    return larger(sqrt(self->variance + sums * sums), 4 * fabs(self->trial - value)) + fabs(self->powers) + self->rest;
}

/* ---- dgamma. */

/* How tolerances are found: by those of dx and y (sums of all terms), or by the terms of the products and a length of chains. */
typedef enum Rule { RULE_OF_FACTORS, RULE_OF_TERMS, RULE_OF_CHAINS } Rule;

typedef struct Gradient {
    const Discount *self;
    const void *x, *dy;
    const double *dx_tolerance; /* [batch, n] */
    DiscountFacts of_x, of_dy;
    DiscountErrors y_errors;
    bool integral;
    Rule rule;
    double times; /* the tolerance */
} Gradient;

/* What a discount's gradient adds up. */
typedef struct GradientTotal {
    Num value;
    double slack, size; /* sum of what products may be off by, and of |products| */
    Chance chance;
} GradientTotal;

/* Context of the two recurrences of a row, by element. num[i] and slack[i]: first y[i] and its tolerance, then those of the product
 * that it is part of. */
typedef struct Products {
    const RecurrenceLine *line;
    const DiscountErrors *errors;
    const double *dx_tolerance; /* of the row */
    Num *num;
    double *slack, *y, *dx;
    size_t n;
    bool left;
    const unsigned char *reset;
} Products;

/* All in the units of its magnitude, beside which nothing that matters is subnormal. */
static Num num_of_wide(const RecurrenceWideSum *sum) {
    const int64_t unit = sum->magnitude.exponent, value = sum->value.exponent - unit;
    return num_normalise((Num){.some = true,
                               .value = {num_scaled(sum->value.part.hi, value), num_scaled(sum->value.part.lo, value)},
                               .magnitude = sum->magnitude.part.hi,
                               .travelled = num_scaled(sum->travelled.part.hi, sum->travelled.exponent - unit),
                               .exponent = unit});
}

static Num num_of(const RecurrenceLine *line, const RecurrenceSum *sum) {
    const double plain = recurrence_value(line, sum);
    if (!isfinite(plain)) return num_input(plain, 0);
    if (sum->wide) return num_of_wide(sum->wide);
    return num_normalise((Num){.some = true,
                               .value = sum->value,
                               .magnitude = sum->magnitude,
                               .travelled = sum->travelled,
                               .exponent = -ilogb(line->scale)});
}

static void emit_y(void *context, size_t element, const RecurrenceSum *sum) {
    const Products *products = context;
    products->num[element] = num_of(products->line, sum);
    products->slack[element] = discount_tolerance(products->errors, products->line, sum, INFINITY);
    products->y[element] = recurrence_value(products->line, sum);
}

static double size_of(const Num *a) {
    return num_scaled(fabs(a->value.hi), a->exponent);
}

/* How far a product is off when its factors are off by e and f. No more than 1/256 of its magnitudes if theirs is so; what
 * underflow costs may be more. */
static double product_slack(const Num *a, double e, const Num *b, double f) {
    const double slack = size_of(a) * f + size_of(b) * e + e * f;
    const double of_a = num_scaled(a->magnitude, a->exponent), of_b = num_scaled(b->magnitude, b->exponent);
    const double most = e <= of_a / 255 && f <= of_b / 255 ? 0x1p-8 * of_a * of_b : DBL_MAX;
    return slack < most ? slack : most;
}

/* Into the slot of the neighbour, which nobody else reads. */
static void emit_product(void *context, size_t element, const RecurrenceSum *sum) {
    const Products *products = context;
    const size_t last = products->left ? 0 : products->n - 1;
    products->dx[element] = recurrence_value(products->line, sum);
    if (element == last) return;
    const size_t slot = products->left ? element - 1 : element + 1;
    const bool cut = products->reset && products->reset[element];
    const Num dx = num_of(products->line, sum), y = products->num[slot];
    products->slack[slot] = cut ? 0 : product_slack(&dx, products->dx_tolerance[element], &y, products->slack[slot]);
    products->num[slot] = cut ? (Num){0} : num_multiply(dx, y);
}

/* Of one row; num and slack: products by position of the reading order, from [0]. */
typedef struct RowMemory {
    Num *num;
    double *slack, *y, *dx, *trial;
    DiscountPart *y_parts, *dx_parts;
} RowMemory;

static void row_memory_free(RowMemory *self) {
    free(self->num);
    free(self->slack);
    free(self->y_parts);
}

static bool row_memory_open(RowMemory *self, size_t n) {
    *self = (RowMemory){.num = malloc(n * sizeof *self->num), .slack = malloc(4 * n * sizeof *self->slack)};
    self->y_parts = malloc(2 * n * sizeof *self->y_parts);
    if (!self->num || !self->slack || !self->y_parts) return false;
    self->y = self->slack + n;
    self->dx = self->y + n;
    self->trial = self->dx + n;
    self->dx_parts = self->y_parts + n;
    return true;
}

static Status all_terms(const Gradient *g, size_t b, RowMemory *row, Chance *chance) {
    const Discount *self = g->self;
    Discount transposed = *self;
    transposed.adjoint = true;
    const RecurrenceLine y = discount_line(self, &g->of_x, g->x, b), dx = discount_line(&transposed, &g->of_dy, g->dy, b);
    Products products = {&y,         &g->y_errors, g->dx_tolerance + b * self->n, row->num, row->slack, row->y, row->dx, self->n,
                         self->left, y.reset};
    TRY(recurrence_run(&y, self->n + 1, emit_y, &products));
    const bool known = discount_sharpen(&g->y_errors, &y, row->y, row->slack, row->y_parts);
    products.line = &dx;
    TRY(recurrence_run(&dx, self->n + 1, emit_product, &products));
    const size_t nobodys = self->left ? self->n - 1 : 0;
    row->num[nobodys] = (Num){0};
    row->slack[nobodys] = 0;
    if (!known || self->gamma_per == GAMMA_ELEMENT) return STATUS_OK;
    memcpy(row->trial, g->dx_tolerance + b * self->n, self->n * sizeof *row->trial);
    const DiscountErrors dx_errors = discount_errors(&transposed, &g->of_dy);
    if (!discount_sharpen(&dx_errors, &dx, row->dx, row->trial, row->dx_parts)) return STATUS_OK;
    const Factors factors = {&y, &dx, row->y, row->dx, row->y_parts, row->dx_parts};
    *chance = forwards(&factors, row->trial);
    backwards(&factors, row->trial, chance);
    return STATUS_OK;
}

/* Where the element's own product is: with sums of all terms in the slot of the neighbour. The first has none, and that slot is
 * empty. */
static size_t slot_of(const Discount *self, bool in_neighbour, size_t i) {
    const size_t last = self->n - 1;
    if (!in_neighbour) return self->left ? i : last - i;
    return self->left ? (i == 0 ? last : i - 1) : (i == last ? 0 : i + 1);
}

/* Roundings of a product and of the additions that it meets: along its row, then along the rows, or fewer. */
static double chain_of(const Discount *self) {
    return self->gamma_per == GAMMA_ELEMENT ? 1 : (double)self->n + (self->gamma_per == GAMMA_ALL ? (double)self->batch : 0);
}

/* Products and their sums in double: each product by its factors and the chain, in the worst case or as it is to be expected, and
 * the result's own rounding. */
static double by_factors(const Gradient *g, const GradientTotal *total, double value) {
    const bool exact = g->integral && total->slack == 0 && total->size <= 0x1p53, f32 = g->self->f32;
    if (exact && (!f32 || fabs(value) <= 0x1p24)) return 0;
    const double chain = exact ? 0 : 1.01 * 0x1p-53 * chain_of(g->self) * (total->size + total->slack);
    const double by_chance = chance_error(&total->chance, value, total->size, chain_of(g->self));
    const double surely = total->slack + chain, before = by_chance < surely ? by_chance : surely;
    const double result = f32 ? 0x1p-24 * (fabs(value) + before) : 0;
    if (before == surely) {
        bound_terms_forget();
        bound_term("what every product may be off by, one by one", total->slack);
        bound_term("additions of the products in the worst case", chain);
    }
    return before + result + g->y_errors.tiny * (f32 ? 1 : (double)g->self->n * (double)g->self->batch);
}

/* Every product of w, x and dy by its roundings, and chains of the dtype or wider ones. */
static double by_terms(const Gradient *g, const GradientTotal *total) {
    const Num *num = &total->value;
    const DiscountErrors *e = &g->y_errors;
    const double magnitude = num->magnitude, adds = chain_of(g->self) + (double)g->self->terms;
    if (g->integral && num_scaled(magnitude, num->exponent) <= 1 / e->u) return 0;
    const double in_dtype = g->rule == RULE_OF_TERMS || g->self->gamma_per == GAMMA_ELEMENT ? 0 : 1024;
    const double chain = fmax(in_dtype, adds * 0x1p-53 / e->u);
    const double first_order = e->more * e->u * (2 * num->travelled + (2 * e->depth + chain) * magnitude);
    const double most = e->most * magnitude;
    bound_terms_forget();
    bound_term("roundings of every product of dy, w and x by its size", num_scaled(first_order, num->exponent));
    return num_scaled(g->times * (first_order < most ? first_order : most), num->exponent) + 256 * e->depth * e->tiny;
}

static void settle(const Gradient *g, const GradientTotal *total, double *value, double *tolerance) {
    const Num *num = &total->value;
    *value = num->kind == KIND_FINITE ? num_scaled(num->value.hi, num->exponent) : num_plain(num);
    if (g->self->f32 && fabs(*value) >= 0x1.ffffffp127) *value = copysign(INFINITY, *value);
    *tolerance = 0;
    if (!isfinite(*value) || (num->magnitude == 0 && total->slack == 0)) return;
    *tolerance = g->rule == RULE_OF_FACTORS ? by_factors(g, total, *value) : by_terms(g, total);
    if (!(*tolerance < DBL_MAX)) *tolerance = DBL_MAX;
    bound_terms_settle(tolerance);
}

static Status products_of(const Gradient *g, size_t b, bool window, RowMemory *memory, Chance *chance) {
    if (!window) return all_terms(g, b, memory, chance);
    const Discount *self = g->self;
    GradientRow row = {discount_line(self, &g->of_x, g->x, b), discount_line(self, &g->of_dy, g->dy, b), self->terms};
    for (size_t p = 0; p < self->n; p++) {
        memory->num[p] = (Num){0};
        memory->slack[p] = 0;
    }
    return gradient_window(&row, memory->num);
}

static GradientTotal total_add(GradientTotal a, const GradientTotal *b) {
    return (GradientTotal){num_add(a.value, b->value), a.slack + b->slack, a.size + b->size, chance_add(&a.chance, &b->chance)};
}

/* One row: its products into dgamma (per element), or their sum. */
static Status run_row(const Gradient *g, size_t b, bool window, bool tolerance_only, Reference *dgamma, GradientTotal *sum) {
    const Discount *self = g->self;
    if (self->n == 0) return STATUS_OK;
    RowMemory memory;
    Chance chance = {0};
    const bool room = row_memory_open(&memory, self->n);
    const Status status = room ? products_of(g, b, window, &memory, &chance) : STATUS_MEMORY;
    for (size_t i = 0; i < self->n && status == STATUS_OK; i++) {
        const size_t slot = slot_of(self, !window, i);
        const Num *num = &memory.num[slot];
        const GradientTotal product = {.value = *num, .slack = memory.slack[slot], .size = size_of(num)};
        if (self->gamma_per != GAMMA_ELEMENT) {
            *sum = total_add(*sum, &product);
            continue;
        }
        double value;
        settle(g, &product, &value, &dgamma->tolerance[b * self->n + i]);
        if (!tolerance_only) dgamma->value[b * self->n + i] = value;
    }
    sum->chance = chance;
    row_memory_free(&memory);
    return room ? status : status_fail(STATUS_MEMORY, "reference of dgamma: no memory for %zu products", self->n);
}

/* One scale for all rows, which are added up. */
static void survey(Gradient *g, size_t terms) {
    const Discount *self = g->self;
    g->of_x = discount_facts(self, g->x, 0, self->batch, terms);
    g->of_dy = discount_facts(self, g->dy, 0, self->batch, terms);
    g->y_errors = discount_errors(self, &g->of_x);
    g->integral = g->of_x.integral && g->of_dy.integral;
}

static Status run_rows(const Gradient *g, bool window, bool tolerance_only, Reference *dgamma) {
    const Discount *self = g->self;
    GradientTotal *sums = calloc(self->batch + 1, sizeof *sums);
    if (!sums) return status_fail(STATUS_MEMORY, "reference of dgamma: no memory for %zu rows", self->batch);
    Status status = STATUS_OK;
#pragma omp parallel for schedule(dynamic) if (!recurrence_is_long(self->n))
    for (size_t b = 0; b < self->batch; b++) {
        const Status of_row = run_row(g, b, window, tolerance_only, dgamma, &sums[b]);
        if (of_row != STATUS_OK) {
#pragma omp atomic write
            status = of_row;
        }
    }
    double ignored;
    for (size_t b = 1; b < self->batch && self->gamma_per == GAMMA_ALL; b++) sums[0] = total_add(sums[0], &sums[b]);
    const size_t count = self->gamma_per == GAMMA_ALL ? 1 : self->gamma_per == GAMMA_ROW ? self->batch : 0;
    for (size_t i = 0; i < count; i++) settle(g, &sums[i], tolerance_only ? &ignored : &dgamma->value[i], &dgamma->tolerance[i]);
    free(sums);
    return status == STATUS_OK ? status : status_fail(status, "reference of dgamma: no memory for rows of %zu", self->n);
}

Status discount_gradient(const Discount *self, const void *x, const void *dy, const double *dx_tolerance, int bound,
                         Reference *dgamma) {
    const bool window = self->terms <= self->n;
    Gradient g = {.self = self, .x = x, .dy = dy, .dx_tolerance = dx_tolerance, .times = 1};
    g.rule = bound == GRADIENT_DTYPE_SUMS ? RULE_OF_CHAINS : window ? RULE_OF_TERMS : RULE_OF_FACTORS;
    survey(&g, self->terms);
    TRY(run_rows(&g, window, false, dgamma));
    if (bound != DISCOUNT_DIFFERENCE || !window) return STATUS_OK;
    survey(&g, self->n + 1);
    g.rule = RULE_OF_CHAINS;
    g.times = 4;
    return run_rows(&g, false, true, dgamma);
}
