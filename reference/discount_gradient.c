/* dL/dgamma with L = sum dy y. For sums of all terms it is, element by element, what is carried into an element times the gradient
 * that has arrived there: dgamma[i] = dx[i] y[neighbour of i]; a discount of a row or of all rows gets the sum. */
#include "discount_gradient.h"

#include <float.h>
#include <stdlib.h>

typedef struct Gradient {
    const Discount *self;
    const void *x, *dy;
    DiscountFacts of_x, of_dy;
    DiscountErrors errors;
    double times; /* the tolerance */
} Gradient;

/* Context of the two recurrences of a row. num[i]: first y[i], then the product that it is part of. */
typedef struct Products {
    const RecurrenceLine *line;
    Num *num;
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
}

/* Into the slot of the neighbour, which nobody else reads. */
static void emit_product(void *context, size_t element, const RecurrenceSum *sum) {
    const Products *products = context;
    const size_t last = products->left ? 0 : products->n - 1;
    if (element == last) return;
    Num *slot = &products->num[products->left ? element - 1 : element + 1];
    const bool cut = products->reset && products->reset[element];
    *slot = cut ? (Num){0} : num_multiply(num_of(products->line, sum), *slot);
}

/* num: of n + 1; products by position of the reading order, from num[0]. */
static Status all_terms(const Gradient *g, size_t b, Num *num) {
    const Discount *self = g->self;
    Discount transposed = *self;
    transposed.adjoint = true;
    const RecurrenceLine y = discount_line(self, &g->of_x, g->x, b), dx = discount_line(&transposed, &g->of_dy, g->dy, b);
    Products products = {&y, num, self->n, self->left, y.reset};
    TRY(recurrence_run(&y, self->n, emit_y, &products));
    products.line = &dx;
    TRY(recurrence_run(&dx, self->n, emit_product, &products));
    num[self->left ? self->n - 1 : 0] = (Num){0}; /* nobody's neighbour */
    return STATUS_OK;
}

/* The element's own product: with sums of all terms it lies in the slot of the neighbour. */
static Num product_of(const Discount *self, bool in_neighbour, const Num *num, size_t i) {
    if (!in_neighbour) return num[self->left ? i : self->n - 1 - i];
    if (i == (self->left ? 0 : self->n - 1)) return (Num){0};
    return num[self->left ? i - 1 : i + 1];
}

static void settle(const Gradient *g, const Num *num, double *value, double *tolerance) {
    const DiscountErrors *e = &g->errors;
    const double magnitude = num->magnitude;
    const double chain = g->self->gamma_per == GAMMA_ELEMENT ? 0 : 1024;
    *value = num->kind == KIND_FINITE ? num_scaled(num->value.hi, num->exponent) : num_plain(num);
    if (g->self->f32 && fabs(*value) >= 0x1.ffffffp127) *value = copysign(INFINITY, *value);
    *tolerance = 0;
    if (!isfinite(*value) || magnitude == 0) return;
    if (e->integral && num_scaled(magnitude, num->exponent) <= 1 / e->u) return;
    const double first_order = 1.01 * e->u * (2 * num->travelled + (2 * e->depth + chain) * magnitude);
    const double most = 0x1p-8 * magnitude;
    *tolerance = num_scaled(g->times * (first_order < most ? first_order : most), num->exponent) + 256 * e->depth * e->tiny;
    if (!(*tolerance < DBL_MAX)) *tolerance = DBL_MAX;
}

static Status products_of(const Gradient *g, size_t b, bool window, Num *num) {
    if (!window) return all_terms(g, b, num);
    const Discount *self = g->self;
    GradientRow row = {discount_line(self, &g->of_x, g->x, b), discount_line(self, &g->of_dy, g->dy, b), self->terms};
    for (size_t p = 0; p < self->n; p++) num[p] = (Num){0};
    return gradient_window(&row, num);
}

/* One row: its products into dgamma (per element), or their sum. */
static Status run_row(const Gradient *g, size_t b, bool window, bool tolerance_only, Truth *dgamma, Num *sum) {
    const Discount *self = g->self;
    if (self->n == 0) return STATUS_OK;
    Num *num = malloc(self->n * sizeof *num);
    if (!num) return status_fail(STATUS_MEMORY, "truth of dgamma: no memory for %zu products", self->n);
    const Status status = products_of(g, b, window, num);
    for (size_t i = 0; i < self->n && status == STATUS_OK; i++) {
        const Num product = product_of(self, !window, num, i);
        if (self->gamma_per != GAMMA_ELEMENT) {
            *sum = num_add(*sum, product);
            continue;
        }
        double value;
        settle(g, &product, &value, &dgamma->tolerance[b * self->n + i]);
        if (!tolerance_only) dgamma->value[b * self->n + i] = value;
    }
    free(num);
    return status;
}

/* One scale for all rows, which are added up. */
static void survey(Gradient *g, size_t terms) {
    const Discount *self = g->self;
    g->of_x = discount_facts(self, g->x, 0, self->batch, terms);
    g->of_dy = discount_facts(self, g->dy, 0, self->batch, terms);
    g->errors = discount_errors(self, &g->of_x);
    g->errors.integral = g->of_x.integral && g->of_dy.integral;
}

static Status run_rows(const Gradient *g, bool window, bool tolerance_only, Truth *dgamma) {
    const Discount *self = g->self;
    Num *sums = calloc(self->batch + 1, sizeof *sums);
    if (!sums) return status_fail(STATUS_MEMORY, "truth of dgamma: no memory for %zu rows", self->batch);
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
    for (size_t b = 1; b < self->batch && self->gamma_per == GAMMA_ALL; b++) sums[0] = num_add(sums[0], sums[b]);
    const size_t count = self->gamma_per == GAMMA_ALL ? 1 : self->gamma_per == GAMMA_ROW ? self->batch : 0;
    for (size_t i = 0; i < count; i++) settle(g, &sums[i], tolerance_only ? &ignored : &dgamma->value[i], &dgamma->tolerance[i]);
    free(sums);
    return status == STATUS_OK ? status : status_fail(status, "truth of dgamma: no memory for rows of %zu", self->n);
}

Status discount_gradient(const Discount *self, const void *x, const void *dy, bool of_all_terms, Truth *dgamma) {
    Gradient g = {.self = self, .x = x, .dy = dy, .times = 1};
    survey(&g, self->terms);
    TRY(run_rows(&g, self->terms < self->n, false, dgamma));
    if (!of_all_terms) return STATUS_OK;
    survey(&g, self->n);
    g.times = 4;
    return run_rows(&g, false, true, dgamma);
}
