/* dL/dgamma with L = sum dy y. For sums of all terms it is, element by element, what is carried into an element times the gradient
 * that has arrived there: dgamma[i] = dx[i] y[neighbour of i]; a discount of a row or of all rows gets the sum. */
#include "gradient.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

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
    GradientChance chance;
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

static Num num_of(const RecurrenceLine *line, const RecurrenceSum *sum) {
    const double plain = recurrence_value(line, sum);
    if (!isfinite(plain)) return num_input(plain, 0);
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

static Status all_terms(const Gradient *g, size_t b, RowMemory *row, GradientChance *chance) {
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
    *chance = gradient_chance(&(GradientFactors){&y, &dx, row->y, row->dx, row->y_parts, row->dx_parts}, row->trial);
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
    const double by_chance = gradient_chance_error(&total->chance, value, total->size, chain_of(g->self));
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
    const double first_order = 1.01 * e->u * (2 * num->travelled + (2 * e->depth + chain) * magnitude);
    const double most = 0x1p-8 * magnitude;
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

static Status products_of(const Gradient *g, size_t b, bool window, RowMemory *memory, GradientChance *chance) {
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
    return (GradientTotal){num_add(a.value, b->value), a.slack + b->slack, a.size + b->size,
                           gradient_chance_add(&a.chance, &b->chance)};
}

/* One row: its products into dgamma (per element), or their sum. */
static Status run_row(const Gradient *g, size_t b, bool window, bool tolerance_only, Reference *dgamma, GradientTotal *sum) {
    const Discount *self = g->self;
    if (self->n == 0) return STATUS_OK;
    RowMemory memory;
    GradientChance chance = {0};
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
