/* Rows that lie side by side, and rows into which a state is carried: each is copied, the state as an element before its first, and
 * its sums are put where they belong. A state is no sum: nothing is carried into it, so that it has no error of its own. */
#include "discount.h"

#include <stdlib.h>
#include <string.h>

/* A row as discount_sums() takes it: `self` has one row. */
typedef struct Copied {
    Discount self;
    char *x, *gamma;
    unsigned char *reset;
    double *value, *tolerance;
    size_t first; /* of the row's own elements */
} Copied;

static Copied copied_open(const DiscountRows *rows) {
    Copied copy = {.self = *rows->self};
    const size_t n = copy.self.n + (rows->initial != NULL);
    copy.self.batch = 1;
    copy.self.n = n;
    copy.self.terms = n + 1;
    copy.value = malloc((4 * sizeof(double) + 1) * n + sizeof(double));
    copy.tolerance = copy.value + n;
    copy.x = (char *)(copy.tolerance + n);
    copy.gamma = copy.x + n * sizeof(double);
    copy.reset = (unsigned char *)copy.gamma + n * sizeof(double);
    copy.first = rows->initial && copy.self.left ? 1 : 0;
    return copy;
}

static void copy_row(const DiscountRows *rows, size_t row, Copied *to) {
    const Discount *self = rows->self;
    const size_t size = self->f32 ? sizeof(float) : sizeof(double), state = self->left ? 0 : self->n;
    const char *gamma = self->gamma;
    memset(to->gamma, 0, to->self.n * size);
    memset(to->reset, 0, to->self.n);
    for (size_t i = 0; i < self->n; i++) {
        const size_t from = row * rows->row_step + i * rows->step, at = to->first + i;
        memcpy(to->x + at * size, (const char *)rows->x + from * size, size);
        if (self->gamma_per == GAMMA_ELEMENT) memcpy(to->gamma + at * size, gamma + from * size, size);
        if (self->reset) to->reset[at] = self->reset[from];
    }
    if (rows->initial) memcpy(to->x + state * size, (const char *)rows->initial + row * size, size);
    if (self->gamma_per != GAMMA_ELEMENT) memcpy(to->gamma, gamma + (self->gamma_per == GAMMA_ROW ? row * size : 0), size);
    to->self.gamma = to->gamma;
    to->self.reset = self->reset ? to->reset : NULL;
}

static Status sums_of(const DiscountRows *rows, size_t row, Copied *copy, const Reference *y, const Reference *final) {
    const size_t n = rows->self->n, last = rows->self->left ? n : 0; /* where a state is */
    copy_row(rows, row, copy);
    TRY(discount_sums(&copy->self, copy->x, copy->self.terms, DISCOUNT_SCAN, copy->value, copy->tolerance));
    for (size_t i = 0; i < n; i++) {
        const size_t to = row * rows->row_step + i * rows->step;
        y->value[to] = copy->value[copy->first + i];
        y->tolerance[to] = copy->tolerance[copy->first + i];
    }
    if (!rows->initial) return STATUS_OK;
    final->value[row] = copy->value[last];
    final->tolerance[row] = copy->tolerance[last];
    return STATUS_OK;
}

Status discount_row_by_row(const DiscountRows *rows, const Reference *y, const Reference *final) {
    Status status = STATUS_OK;
#pragma omp parallel if (!recurrence_is_long(rows->self->n))
    {
        Copied copy = copied_open(rows);
        Status own = copy.value ? STATUS_OK : STATUS_MEMORY;
#pragma omp for schedule(dynamic, 16)
        for (size_t row = 0; row < rows->self->batch; row++)
            if (own == STATUS_OK) own = sums_of(rows, row, &copy, y, final);
        free(copy.value);
        if (own != STATUS_OK) {
#pragma omp atomic write
            status = own;
        }
    }
    return status == STATUS_OK ? status : status_fail(status, "reference of rows of %zu: no memory", rows->self->n);
}

enum { FARTHEST = 64 /* positions that a state is followed */ };

/* What `initial` adds to the sum at position p; false: nothing, or too many factors. */
static bool of_state(const DiscountRows *rows, size_t row, size_t p, double *out) {
    const Discount *self = rows->self;
    *out = vector_load(rows->initial, self->f32, row);
    for (size_t q = 0; q <= p; q++) {
        const size_t at = row * rows->row_step + (self->left ? q : self->n - 1 - q) * rows->step;
        const size_t factor = self->gamma_per == GAMMA_ALL ? 0 : self->gamma_per == GAMMA_ROW ? row : at;
        if (p >= FARTHEST || (self->reset && self->reset[at])) return false;
        *out *= vector_load(self->gamma, self->f32, factor);
    }
    return true;
}

bool discount_rows_wrong_value(const DiscountRows *rows, const Reference *right, int which, int output, size_t element,
                               double *value) {
    const Discount *self = rows->self;
    const size_t n = self->n;
    size_t row = element, in_row = self->left ? n - 1 : 0; /* of final */
    if (output == 0 && rows->step == 1) row = element / n, in_row = element % n;
    if (output == 0 && rows->step > 1) row = element % self->batch, in_row = element / self->batch;
    const size_t p = self->left ? in_row : n - 1 - in_row, at = row * rows->row_step + in_row * rows->step;
    const size_t factor = self->gamma_per == GAMMA_ALL ? 0 : self->gamma_per == GAMMA_ROW ? row : at;
    const double whole = right[output].value[element];
    double other = 0;
    if (n == 0 || !isfinite(whole)) return false;
    const double before = p > 0           ? right[0].value[self->left ? at - rows->step : at + rows->step]
                          : rows->initial ? vector_load(rows->initial, self->f32, row)
                                          : NAN;
    switch (which) {
    case WRONG_SHIFTED:
        *value = before;
        return isfinite(before);
    case WRONG_UNCUT:
        if (!self->reset || !self->reset[at]) return false;
        other = before * vector_load(self->gamma, self->f32, factor);
        break;
    case WRONG_STATELESS:
        if (!rows->initial || !of_state(rows, row, p, &other)) return false;
        other = -other;
        break;
    default:
        return false;
    }
    *value = whole + other;
    return isfinite(*value);
}
