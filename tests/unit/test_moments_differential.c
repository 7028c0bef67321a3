/* Random tables against the definition of moments in 4000 bits: columns anywhere in the range and of any spread, weights up to
 * 2^590 apart, both zeros, infinities and NaN. A hundred seeds; RUNGS_TEST_FULL=1: three thousand. */
#include "base/rng.h"
#include "moments_support.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

enum { DIFFERENTIAL_BITS = 4000, SEEDS = 100, SEEDS_FULL = 3000 };

static uint64_t draw_key, draw_index;

static uint64_t draw(uint64_t count) {
    return rng_at(draw_key, draw_index++) % count;
}

static double draw_unit(void) {
    return rng_uniform(draw_key, draw_index++) * 2 - 1;
}

static double draw_power(int range) {
    return ldexp(1, (int)draw((uint64_t)(2 * range + 1)) - range);
}

static double to_dtype(double x, DType dtype) {
    return dtype == DTYPE_F32 ? (double)(float)x : x;
}

/* A column's magnitude and the part of it that varies; some have specials, some are constant. */
static void fill_column(Moments *self, size_t c) {
    const DType dtype = self->in[0].dtype;
    const bool f32 = dtype == DTYPE_F32;
    static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
    const double size = draw(3) == 0 ? draw_power(f32 ? 120 : 1020) : draw_power(4);
    const double spread = draw(3) == 0 ? ldexp(1, -(int)draw(f32 ? 23 : 52)) : 1;
    const int kind = (int)draw(8);
    for (size_t r = 0; r < self->rows; r++) {
        double x = kind == 0 ? size : size * (1 - spread + spread * draw_unit());
        if (kind == 1 && draw(self->rows) == 0) x = specials[draw(5)];
        if (kind == 2) x = specials[3 + draw(2)];
        moments_set_x(self, r, c, to_dtype(x, dtype));
    }
}

/* On half of the seeds as far apart as is allowed; in f64 also near both ends of the range. */
static void fill_weights(Moments *self) {
    const bool f32 = self->in[0].dtype == DTYPE_F32;
    const bool apart = draw(2);
    const double sizes[] = {1, apart ? 0x1p700 : 0x1p1015, apart ? 0x1p-700 : 0x1p-1015};
    const int range = !apart ? 2 : f32 ? 120 : 290;
    const double size = f32 ? 1 : sizes[draw(3)];
    for (size_t r = 0; r < array_count(&self->in[1]); r++)
        array_set(&self->in[1], r, size * draw_power(range) * (1.5 + draw_unit() / 4));
}

typedef struct Numbers {
    mpfr_t total, mean, deviation, term, central[7];
} Numbers;

static void sums(const Moments *self, size_t c, Numbers *n) {
    mpfr_set_zero(n->total, 1);
    mpfr_set_zero(n->mean, 1);
    for (int p = 2; p <= 6; p++) mpfr_set_zero(n->central[p], 1);
    for (size_t r = 0; r < self->rows; r++) {
        mpfr_set_d(n->term, moments_x(self, r, c), MPFR_RNDN);
        mpfr_mul_d(n->term, n->term, moments_weight(self, r), MPFR_RNDN);
        mpfr_add(n->mean, n->mean, n->term, MPFR_RNDN);
        mpfr_add_d(n->total, n->total, moments_weight(self, r), MPFR_RNDN);
    }
    mpfr_div(n->mean, n->mean, n->total, MPFR_RNDN);
    for (size_t r = 0; r < self->rows; r++) {
        mpfr_d_sub(n->deviation, moments_x(self, r, c), n->mean, MPFR_RNDN);
        mpfr_mul_d(n->term, n->deviation, moments_weight(self, r), MPFR_RNDN);
        for (int p = 2; p <= 6; p++) {
            mpfr_mul(n->term, n->term, n->deviation, MPFR_RNDN);
            mpfr_add(n->central[p], n->central[p], n->term, MPFR_RNDN);
        }
    }
    for (int p = 2; p <= 6; p++) mpfr_div(n->central[p], n->central[p], n->total, MPFR_RNDN);
}

static void expect(const Moments *self, int output, size_t c, double exact, double slack) {
    if (array_count(&self->out[output]) == 0) return;
    const double value = self->reference[output].value[c], tolerance = self->reference[output].tolerance[c];
    if (self->out[output].dtype == DTYPE_F32 && fabs(exact) >= 0x1.ffffffp127) exact = copysign(INFINITY, exact);
    const bool same = value == exact || (isnan(value) && isnan(exact));
    const bool near = fabs(value - exact) <= 0x1p-51 * fabs(exact) + slack + 0x1p-1074;
    if ((!same && !near) || !(tolerance >= 0) || (!isfinite(value) && tolerance != 0))
        fail_msg("%s, %s of column %zu: %a, not %a (tolerance %a)", self->text, self->out[output].name, c, value, exact, tolerance);
}

/* What cancels is known to 2^-90 or so of what it is made of. */
static void check_ordinary(const Moments *self, size_t c, double low, double high, Numbers *n) {
    static const int outputs[] = {[3] = SKEWNESS, [4] = KURTOSIS, [5] = M5, [6] = M6};
    const double wide = fmax(fabs(low), fabs(high));
    sums(self, c, n);
    expect(self, MEAN, c, mpfr_get_d(n->mean, MPFR_RNDN), 0x1p-74 * wide);
    expect(self, VAR, c, mpfr_get_d(n->central[2], MPFR_RNDN), 0);
    mpfr_sqrt(n->deviation, n->central[2], MPFR_RNDN);
    for (int p = 3; p <= 6; p++) {
        mpfr_pow_ui(n->term, n->deviation, (unsigned long)p, MPFR_RNDN);
        mpfr_div(n->term, n->central[p], n->term, MPFR_RNDN);
        expect(self, outputs[p], c, mpfr_get_d(n->term, MPFR_RNDN), p % 2 ? 0x1p-60 : 0);
    }
}

static void check_column(const Moments *self, size_t c, Numbers *n) {
    double low = INFINITY, high = -INFINITY;
    bool nan = false;
    for (size_t r = 0; r < self->rows; r++) {
        const double x = moments_x(self, r, c);
        nan = nan || isnan(x);
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    expect(self, MIN, c, nan ? NAN : low, 0);
    expect(self, MAX, c, nan ? NAN : high, 0);
    if (!nan && isfinite(low) && isfinite(high) && low < high) {
        check_ordinary(self, c, low, high, n);
        return;
    }
    const bool constant = !nan && isfinite(low) && isfinite(high);
    expect(self, MEAN, c, nan || (isinf(low) && isinf(high) && low < high) ? NAN : isinf(low) ? low : isinf(high) ? high : low, 0);
    expect(self, VAR, c, constant ? 0 : NAN, 0);
    for (int i = 0; i < OUTPUTS; i++)
        if (i == SKEWNESS || i == KURTOSIS || i == M5 || i == M6) expect(self, i, c, NAN, 0);
}

static void random_tables(void **state) {
    (void)state;
    Numbers n;
    mpfr_inits(n.total, n.mean, n.deviation, n.term, (mpfr_ptr)0);
    for (int p = 2; p <= 6; p++) mpfr_init(n.central[p]);
    const char *full = getenv("RUNGS_TEST_FULL");
    const uint64_t seeds = full && *full ? SEEDS_FULL : SEEDS;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        draw_key = rng_at(seed, 1729);
        draw_index = 0;
        const int rows = 1 + (int)draw(draw(2) ? 4 : 40), order = 4 + (int)draw(3);
        char text[256];
        snprintf(text, sizeof text, "moments rows=%d cols=%d order=%d weights=%s dtype=%s input=ones", rows, 1 + (int)draw(4),
                 order, draw(2) ? "row" : "none", draw(2) ? "f32" : "f64");
        Moments self = moments_open("%s", text);
        snprintf(self.text, sizeof self.text, "seed %llu: %s", (unsigned long long)seed, text);
        for (size_t c = 0; c < self.cols; c++) fill_column(&self, c);
        fill_weights(&self);
        moments_reference_of(&self, (int)(seed % BOUNDS));
        for (size_t c = 0; c < self.cols; c++) check_column(&self, c, &n);
        moments_close(&self);
    }
    mpfr_clears(n.total, n.mean, n.deviation, n.term, (mpfr_ptr)0);
    for (int p = 2; p <= 6; p++) mpfr_clear(n.central[p]);
}

static void weights_too_far_apart_are_refused(void **state) {
    (void)state;
    Moments self = moments_open("moments rows=3 cols=1 weights=row dtype=f64 input=uniform");
    static const double weights[] = {1, 0x1p500, 0x1p-101};
    memcpy(self.in[1].data, weights, sizeof weights);
    assert_int_equal(rungs_op_moments.reference(&self.problem, self.in, 0, self.reference), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "a ratio of at most 2^600 is expected"));
    moments_close(&self);
}

int main(void) {
    mpfr_set_default_prec(DIFFERENTIAL_BITS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tables),
        cmocka_unit_test(weights_too_far_apart_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
