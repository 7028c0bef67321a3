/* The reference of `moments` against 400-bit brute force, hand-computed values, closed forms, and itself on other numbers of
 * threads.
 */
#include "moments_support.h"

#include <math.h>
#include <mpfr.h>
#include <omp.h>
#include <string.h>

enum { BITS = 400 };

static mpfr_t total, mean, term, part, central[7];

/* The definition, over one column of finite elements that are not all the same; rounded once. */
static void brute_force(const Moments *self, size_t c, double expected[OUTPUTS]) {
    double least = INFINITY, most = -INFINITY;
    mpfr_set_zero(total, 1);
    mpfr_set_zero(mean, 1);
    for (int p = 2; p <= 6; p++) mpfr_set_zero(central[p], 1);
    for (size_t r = 0; r < self->rows; r++) {
        const double x = moments_x(self, r, c);
        least = x < least ? x : least;
        most = x > most ? x : most;
        mpfr_set_d(term, x, MPFR_RNDN);
        mpfr_mul_d(term, term, moments_weight(self, r), MPFR_RNDN);
        mpfr_add(mean, mean, term, MPFR_RNDN);
        mpfr_add_d(total, total, moments_weight(self, r), MPFR_RNDN);
    }
    mpfr_div(mean, mean, total, MPFR_RNDN);
    for (size_t r = 0; r < self->rows; r++) {
        mpfr_d_sub(term, moments_x(self, r, c), mean, MPFR_RNDN);
        mpfr_mul_d(part, term, moments_weight(self, r), MPFR_RNDN);
        for (int p = 2; p <= 6; p++) {
            mpfr_mul(part, part, term, MPFR_RNDN);
            mpfr_add(central[p], central[p], part, MPFR_RNDN);
        }
    }
    for (int p = 2; p <= 6; p++) mpfr_div(central[p], central[p], total, MPFR_RNDN);
    static const int outputs[] = {[3] = SKEWNESS, [4] = KURTOSIS, [5] = M5, [6] = M6};
    mpfr_sqrt(term, central[2], MPFR_RNDN);
    for (int p = 3; p <= 6; p++) {
        mpfr_pow_ui(part, term, (unsigned long)p, MPFR_RNDN);
        mpfr_div(part, central[p], part, MPFR_RNDN);
        expected[outputs[p]] = mpfr_get_d(part, MPFR_RNDN);
    }
    expected[MEAN] = mpfr_get_d(mean, MPFR_RNDN);
    expected[VAR] = mpfr_get_d(central[2], MPFR_RNDN);
    expected[MIN] = least;
    expected[MAX] = most;
}

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Rounded once: the neighbour is allowed where the exact value is all but half way; odd moments and means may cancel. */
static void check_column(const Moments *self, size_t c) {
    double expected[OUTPUTS];
    brute_force(self, c, expected);
    const double wide = fmax(fabs(expected[MIN]), fabs(expected[MAX]));
    for (int i = 0; i < OUTPUTS; i++) {
        if (array_count(&self->out[i]) == 0) continue;
        const double value = self->reference[i].value[c], tolerance = self->reference[i].tolerance[c];
        if (self->out[i].dtype == DTYPE_F32 && fabs(expected[i]) >= 0x1.ffffffp127) expected[i] = copysign(INFINITY, expected[i]);
        const double cancelled = i == MEAN ? 0x1p-74 * wide : i == SKEWNESS || i == M5 ? 0x1p-66 : 0;
        if (!same(value, expected[i]) && !(fabs(value - expected[i]) <= 0x1p-52 * fabs(expected[i]) + cancelled + 0x1p-1074))
            fail_msg("%s, %s of column %zu: %a, not %a", self->text, self->out[i].name, c, value, expected[i]);
        if (!(tolerance >= 0) || (i == MIN || i == MAX ? tolerance != 0 : isfinite(value) && tolerance == 0))
            fail_msg("%s, %s of column %zu: tolerance %a", self->text, self->out[i].name, c, tolerance);
    }
}

static void every_family_agrees_with_brute_force(void **state) {
    (void)state;
    static const char *const families[] = {"uniform",   "normal",    "ramp",   "integers",  "offset1e3", "offset1e6",
                                           "offset1e8", "spike1e16", "sorted", "heavytail", "huge"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int order = 4; order <= 6; order++)
            for (int k = 0; k < 8; k++) {
                Moments self =
                    moments_open("moments rows=300 cols=7 order=%d weights=%s columns=%s dtype=%s input=%s seed=3", order,
                                 k & 1 ? "row" : "none", k & 2 ? "scaled" : "alike", k & 4 ? "f32" : "f64", families[f]);
                moments_reference_of(&self, TWO_PASS);
                for (size_t c = 0; c < self.cols; c++)
                    if (self.reference[MIN].value[c] < self.reference[MAX].value[c]) check_column(&self, c); /* offset1e8 in f32 */
                moments_close(&self);
            }
}

/* Around every width at which the matrix is read otherwise, with rows that fill no vector. */
static void every_shape_agrees_with_brute_force(void **state) {
    (void)state;
    static const size_t widths[] = {1, 2, 3, 21, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300},
                        lengths[] = {2, 3, 5, 63, 64, 65, 200};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            Moments self =
                moments_open("moments rows=%zu cols=%zu order=6 weights=%s columns=scaled dtype=%s input=normal seed=%zu",
                             lengths[l], widths[w], w % 2 ? "row" : "none", l % 2 ? "f32" : "f64", w + l);
            moments_reference_of(&self, TWO_PASS);
            for (size_t c = 0; c < self.cols; c += 1 + c / 3) check_column(&self, c);
            check_column(&self, self.cols - 1);
            moments_close(&self);
        }
}

/* More rows than a chunk of the reference has. */
static void long_columns_agree_with_brute_force(void **state) {
    (void)state;
    static const struct {
        size_t rows, cols;
        const char *input;
    } cases[] = {
        {300000, 1, "offset1e8"}, {20000, 3, "offset1e6"}, {4096, 64, "normal"}, {4097, 64, "heavytail"}, {8193, 130, "spike1e16"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Moments self = moments_open("moments rows=%zu cols=%zu order=6 weights=%s dtype=f64 input=%s seed=9", cases[k].rows,
                                    cases[k].cols, k % 2 ? "row" : "none", cases[k].input);
        moments_reference_of(&self, TWO_PASS);
        check_column(&self, 0);
        check_column(&self, self.cols - 1);
        moments_close(&self);
    }
}

/* Sums that overflow, products that underflow; each magnitude beside an ordinary column, which must not suffer. */
static void the_ends_of_the_range_are_right(void **state) {
    (void)state;
    static const double f64[] = {0x1.8p1023, 0x1p600, 0x1p300, 0x1p-300, 0x1p-500, 0x1p-1000, 0x1p-1040};
    static const double f32[] = {0x1.8p127, 0x1p63, 0x1p33, 1e10, 0x1p-63, 0x1p-120};
    for (int k = 0; k < 4; k++)
        for (size_t m = 0; m < (k & 1 ? sizeof f32 / sizeof *f32 : sizeof f64 / sizeof *f64); m++) {
            Moments self = moments_open("moments rows=90 cols=3 order=6 weights=%s dtype=%s input=uniform seed=3",
                                        k & 2 ? "row" : "none", k & 1 ? "f32" : "f64");
            for (size_t r = 0; r < self.rows; r++)
                for (size_t c = 0; c < 2; c++)
                    moments_set_x(&self, r, c, (moments_x(&self, r, c) - (c == 0 ? 0.3 : 0)) * (k & 1 ? f32[m] : f64[m]));
            moments_reference_of(&self, TWO_PASS);
            for (size_t c = 0; c < self.cols; c++) check_column(&self, c);
            moments_close(&self);
        }
}

static void hand_computed_values(void **state) {
    (void)state;
    static const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    static const double expected[OUTPUTS] = {5, 4, 0.65625, 2.78125, 2, 9, 3.1640625, 9.5546875};
    Moments self = moments_open("moments rows=8 cols=1 order=6 dtype=f64 input=ones seed=0");
    memcpy(self.in[0].data, x, sizeof x);
    moments_reference_of(&self, TWO_PASS);
    for (int i = 0; i < OUTPUTS; i++)
        if (self.reference[i].value[0] != expected[i])
            fail_msg("%s: %a, not %a", self.out[i].name, self.reference[i].value[0], expected[i]);
    moments_close(&self);
    /* Weights 1, 3, 2, 1, 1 on the distinct values say the same. */
    static const double distinct[] = {2, 4, 5, 7, 9}, weights[] = {1, 3, 2, 1, 1};
    Moments weighted = moments_open("moments rows=5 cols=1 order=6 weights=row dtype=f64 input=ones seed=0");
    memcpy(weighted.in[0].data, distinct, sizeof distinct);
    memcpy(weighted.in[1].data, weights, sizeof weights);
    moments_reference_of(&weighted, TWO_PASS);
    for (int i = 0; i < OUTPUTS; i++)
        if (weighted.reference[i].value[0] != expected[i])
            fail_msg("weighted %s: %a, not %a", weighted.out[i].name, weighted.reference[i].value[0], expected[i]);
    moments_close(&weighted);
}

/* U(-(c+1), 2(c+1)): mean (c+1)/2, var 0.75 (c+1)^2, skewness 0, kurtosis 1.8 and the moments of order 5 and 6, 0 and 27/7, within
 * six standard errors (those of the standardised moments are below 1, 1, 3 and 7 over sqrt(rows)). */
static void closed_forms_are_the_limits(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        Moments self = moments_open("moments rows=100003 cols=12 order=6 columns=scaled weights=%s dtype=%s input=uniform seed=4",
                                    k & 2 ? "row" : "none", k & 1 ? "f32" : "f64");
        moments_reference_of(&self, TWO_PASS);
        const double near = 6 / sqrt((double)self.rows) * (k & 2 ? 1.1 : 1);
        for (size_t c = 0; c < self.cols; c++) {
            const double s = (double)c + 1;
            const double limit[OUTPUTS] = {s / 2, 0.75 * s * s, 0, 1.8, -s, 2 * s, 0, 27. / 7};
            const double reach[OUTPUTS] = {0.87 * s * near, 0.68 * s * s * near, near,     near,
                                           0.001 * s,       0.001 * s,           3 * near, 7 * near};
            for (int i = 0; i < OUTPUTS; i++)
                if (!(fabs(self.reference[i].value[c] - limit[i]) <= reach[i]))
                    fail_msg("%s, %s of column %zu: %g, not about %g", self.text, self.out[i].name, c, self.reference[i].value[c],
                             limit[i]);
            assert_true(self.reference[MIN].value[c] >= -s && self.reference[MAX].value[c] <= 2 * s);
        }
        moments_close(&self);
    }
}

static void expect_column(const Moments *self, size_t c, const double expected[OUTPUTS], bool exact) {
    for (int i = 0; i < OUTPUTS; i++) {
        if (!same(self->reference[i].value[c], expected[i]))
            fail_msg("%s, %s of column %zu: %a, not %a", self->text, self->out[i].name, c, self->reference[i].value[c],
                     expected[i]);
        if (self->reference[i].tolerance[c] != 0 && (exact || i != MEAN))
            fail_msg("%s, %s of column %zu: tolerance %a", self->text, self->out[i].name, c, self->reference[i].tolerance[c]);
    }
}

static void nan_and_infinities_show_where_they_belong(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        Moments self = moments_open("moments rows=200 cols=5 order=6 weights=%s dtype=%s input=uniform seed=4",
                                    k & 2 ? "row" : "none", k & 1 ? "f32" : "f64");
        for (size_t r = 0; r < self.rows; r++) moments_set_x(&self, r, 4, r == 150 ? -INFINITY : -1);
        moments_set_x(&self, 17, 0, NAN);
        moments_set_x(&self, 30, 0, INFINITY);
        moments_set_x(&self, 199, 1, INFINITY);
        moments_set_x(&self, 5, 2, INFINITY);
        moments_set_x(&self, 6, 2, -INFINITY);
        moments_reference_of(&self, TWO_PASS);
        double least = INFINITY;
        for (size_t r = 0; r < self.rows; r++) least = fmin(least, moments_x(&self, r, 1));
        expect_column(&self, 0, (double[OUTPUTS]){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, true);
        expect_column(&self, 1, (double[OUTPUTS]){INFINITY, NAN, NAN, NAN, least, INFINITY, NAN, NAN}, true);
        expect_column(&self, 2, (double[OUTPUTS]){NAN, NAN, NAN, NAN, -INFINITY, INFINITY, NAN, NAN}, true);
        check_column(&self, 3);
        expect_column(&self, 4, (double[OUTPUTS]){-INFINITY, NAN, NAN, NAN, -INFINITY, -1, NAN, NAN}, true);
        moments_close(&self);
    }
}

static void constant_and_short_columns(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++)
        for (size_t rows = 1; rows <= 1001; rows += 500) {
            Moments self = moments_open("moments rows=%zu cols=3 order=6 weights=%s degenerate=%s dtype=%s input=constant seed=4",
                                        rows, k & 2 ? "row" : "none", k & 4 ? "zero" : "nan", k & 1 ? "f32" : "f64");
            moments_reference_of(&self, TWO_PASS);
            const double x = moments_x(&self, 0, 1), rest = k & 4 ? 0 : NAN;
            for (size_t c = 0; c < 3; c++) expect_column(&self, c, (double[OUTPUTS]){x, 0, rest, rest, x, x, rest, rest}, false);
            moments_close(&self);
        }
    Moments empty = moments_open("moments rows=0 cols=3 order=6 weights=row degenerate=zero dtype=f32 input=uniform seed=4");
    moments_reference_of(&empty, TWO_PASS);
    for (size_t c = 0; c < 3; c++) expect_column(&empty, c, (double[OUTPUTS]){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, true);
    moments_close(&empty);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    const int before = omp_get_max_threads();
    for (int bound = 0; bound < BOUNDS; bound++) {
        Moments one =
            moments_open("moments rows=30011 cols=%d order=6 weights=row dtype=f64 input=heavytail seed=2", 5 + 70 * bound);
        Moments many =
            moments_open("moments rows=30011 cols=%d order=6 weights=row dtype=f64 input=heavytail seed=2", 5 + 70 * bound);
        omp_set_num_threads(1);
        moments_reference_of(&one, bound);
        omp_set_num_threads(5);
        moments_reference_of(&many, bound);
        for (int i = 0; i < OUTPUTS; i++) {
            assert_memory_equal(one.reference[i].value, many.reference[i].value, one.cols * sizeof(double));
            assert_memory_equal(one.reference[i].tolerance, many.reference[i].tolerance, one.cols * sizeof(double));
        }
        moments_close(&one);
        moments_close(&many);
    }
    omp_set_num_threads(before);
}

static Array matrix(const char *name, DType dtype, size_t rows, size_t cols) {
    Array array = array_1d(name, dtype, rows);
    array.rank = 2;
    array.shape[1] = cols;
    return array;
}

static void shapes_and_adoption(void **state) {
    (void)state;
    Case problem;
    assert_int_equal(case_init(&rungs_op_moments, &problem), STATUS_OK);
    Array in[2] = {matrix("x", DTYPE_F32, 123, 45), array_1d("weights", DTYPE_F32, 123)}, out[OUTPUTS];
    assert_int_equal(rungs_op_moments.adopt(in, &problem), STATUS_OK);
    assert_int_equal(params_int(&problem.params, "rows"), 123);
    assert_int_equal(params_int(&problem.params, "cols"), 45);
    assert_string_equal(params_text(&problem.params, "weights"), "row");
    in[0].shape[0] = 122;
    assert_int_equal(rungs_op_moments.adopt(in, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "weights: one per row of x, [122]"));
    in[0].dtype = DTYPE_F64;
    in[0].shape[0] = 123;
    assert_int_equal(rungs_op_moments.adopt(in, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "weights: f64 is expected"));
    in[0] = array_1d("x", DTYPE_F64, 77);
    in[1].rank = -1;
    assert_int_equal(rungs_op_moments.adopt(in, &problem), STATUS_OK);
    assert_int_equal(params_int(&problem.params, "cols"), 1);
    assert_string_equal(params_text(&problem.params, "weights"), "none");
    assert_int_equal(rungs_op_moments.shapes(&problem, in, out), STATUS_OK);
    assert_true(in[0].rank == 2 && array_count(&in[0]) == 77 && array_count(&in[1]) == 0);
    assert_true(array_count(&out[KURTOSIS]) == 1 && array_count(&out[M5]) == 0 && array_count(&out[M6]) == 0);
    in[0].rank = 3;
    assert_int_equal(rungs_op_moments.adopt(in, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "x: two dimensions"));
    in[0].rank = -1;
    assert_int_equal(rungs_op_moments.adopt(in, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "x: missing"));
    assert_int_equal(case_parse("moments rows=10 cols=3 order=5 weights=row dtype=f32 input=normal seed=1", &problem), STATUS_OK);
    assert_int_equal(rungs_op_moments.shapes(&problem, in, out), STATUS_OK);
    assert_true(array_count(&out[M5]) == 3 && array_count(&out[M6]) == 0);
    const Work work = rungs_op_moments.work(&problem);
    assert_true(work.bytes == 10 * (3 + 1) * 4 && work.flops == 10 * 3 * (12 + 5));
}

static void weights_must_be_positive(void **state) {
    (void)state;
    static const double wrong[] = {0, -1, NAN, INFINITY};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        Moments self = moments_open("moments rows=10 cols=2 weights=row dtype=f64 input=uniform seed=4");
        for (size_t r = 0; r < self.rows; r++) assert_true(moments_weight(&self, r) >= 0.5 && moments_weight(&self, r) <= 1.5);
        array_set(&self.in[1], 7, wrong[k]);
        assert_int_equal(rungs_op_moments.reference(&self.problem, self.in, TWO_PASS, self.reference), STATUS_INVALID);
        assert_non_null(strstr(status_message(), "weights[7]"));
        moments_close(&self);
    }
}

int main(void) {
    mpfr_inits2(BITS, total, mean, term, part, (mpfr_ptr)0);
    for (int p = 2; p <= 6; p++) mpfr_init2(central[p], BITS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_agrees_with_brute_force),
        cmocka_unit_test(every_shape_agrees_with_brute_force),
        cmocka_unit_test(long_columns_agree_with_brute_force),
        cmocka_unit_test(the_ends_of_the_range_are_right),
        cmocka_unit_test(hand_computed_values),
        cmocka_unit_test(closed_forms_are_the_limits),
        cmocka_unit_test(nan_and_infinities_show_where_they_belong),
        cmocka_unit_test(constant_and_short_columns),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(shapes_and_adoption),
        cmocka_unit_test(weights_must_be_positive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
