/* discount_brute.h - sums of `discounted_cumsum` by their definition, in 600 bits, for the tests of its reference. */
#pragma once

#include "scan_support.h"

#include <mpfr.h>

enum { BITS = 600 };

static mpfr_t sum; /* main() makes it */

static inline size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* How the case reads: element and factor at a position of the reading order of a row. */
typedef struct Reader {
    Scan *scan;
    const Array *x, *gamma, *reset;
    bool left, unrounded;
    size_t terms;
} Reader;

static inline Reader reader_of(Scan *self) {
    const Params *params = &self->problem.params;
    const size_t k = (size_t)params_int(params, "k");
    return (Reader){self,
                    scan_array(self, "x"),
                    scan_array(self, "gamma"),
                    scan_array(self, "reset"),
                    strcmp(params_text(params, "direction"), "left") == 0,
                    params_has(params, "reference") && strcmp(params_text(params, "reference"), "unrounded") == 0,
                    k && k <= self->n ? k : self->n + 1};
}

static inline size_t index_of(const Reader *r, size_t row, size_t p) {
    return row * r->scan->n + (r->left ? p : r->scan->n - 1 - p);
}

static inline double factor_of(const Reader *r, size_t row, size_t p) {
    if (r->unrounded) return params_real(&r->scan->problem.params, "gamma");
    const size_t count = array_count(r->gamma);
    const char *per = params_text(&r->scan->problem.params, "gamma_per");
    return array_get(r->gamma, strcmp(per, "all") == 0 ? 0 : strcmp(per, "row") == 0 ? smaller(row, count) : index_of(r, row, p));
}

/* What rounding to the dtype makes an infinity. */
static inline double to_dtype(const Reader *r, mpfr_t exact) {
    const double value = mpfr_get_d(exact, MPFR_RNDN);
    return r->x->dtype == DTYPE_F32 && fabs(value) >= 0x1.ffffffp127 ? copysign(INFINITY, value) : value;
}

/* One step of the recurrence: `sum` to 600 bits, `special` what NaN and infinities alone make of it in IEEE arithmetic. A sum of
 * all terms that passes the range of the dtype is an infinity from there on. */
static inline void advance(const Reader *r, bool first, double factor, double x, double *special) {
    if (first) mpfr_set_zero(sum, 1);
    if (!first) mpfr_mul_d(sum, sum, factor, MPFR_RNDN);
    if (isfinite(x)) mpfr_add_d(sum, sum, x, MPFR_RNDN);
    *special = (first ? 0 : factor * *special) + (isfinite(x) ? 0 : x);
    if (r->terms > r->scan->n && *special == 0 && isinf(to_dtype(r, sum))) *special = to_dtype(r, sum);
}

/* The definition: from the first element of the sum to its last. */
static inline double brute_force(const Reader *r, size_t row, size_t p) {
    const bool mask = array_count(r->reset) > 0;
    size_t first = p + 1 >= r->terms ? p + 1 - r->terms : 0;
    for (size_t q = p; mask && q > first; q--)
        if (array_get(r->reset, index_of(r, row, q)) != 0) first = q;
    double special = 0;
    for (size_t q = first; q <= p; q++)
        advance(r, q == first, factor_of(r, row, q), array_get(r->x, index_of(r, row, q)), &special);
    return special != 0 ? special : to_dtype(r, sum);
}

/* Values: the exact one, rounded, or its neighbour; under cancellation, far below the tolerance. */
static inline void check_at(const Scan *self, size_t i, double expected) {
    const double value = self->reference[0].value[i], tolerance = self->reference[0].tolerance[i];
    if (!reference_agrees(value, expected, 0x1p-52, tolerance))
        fail_msg("%s at %zu: %a, not %a (tolerance %a)", self->text, i, value, expected, tolerance);
}

static inline void check(Scan *self) {
    const Reader r = reader_of(self);
    for (size_t row = 0; row < self->batch; row++)
        for (size_t p = 0; p < self->n; p++) check_at(self, index_of(&r, row, p), brute_force(&r, row, p));
}

/* Long rows are cut into blocks; the recurrence itself, in 600 bits, along the whole row. */
static inline void check_row(Scan *self, const Reader *r) {
    scan_reference(self, 0);
    double special = 0;
    for (size_t p = 0; p < self->n; p++) {
        const size_t i = index_of(r, 0, p);
        const bool first = p == 0 || (array_count(r->reset) > 0 && array_get(r->reset, i) != 0);
        advance(r, first, factor_of(r, 0, p), array_get(r->x, i), &special);
        check_at(self, i, special != 0 ? special : to_dtype(r, sum));
    }
}

static inline void check_case(const char *text) {
    Scan self = scan_open("%s", text);
    scan_reference(&self, 0);
    check(&self);
    scan_close(&self);
}
