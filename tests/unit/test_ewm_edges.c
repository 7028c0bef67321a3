/* The reference of `ewm` at its edges: NaN and inf, periods, segments, nothing at all, and what it refuses. */
/* needs: ewm */
#include "scan_support.h"

#include <omp.h>

static void settle(Scan *self, const char *words, const double *x) {
    *self = scan_open("ewm dtype=f64 input=ones %s", words);
    for (size_t i = 0; i < self->n; i++) array_set(&self->in[0], i, x[i]);
    scan_reference(self, 0);
}

static void check(const char *words, const double *x, const double *expected) {
    Scan self;
    settle(&self, words, x);
    for (size_t i = 0; i < self.n; i++) {
        const double value = self.reference[0].value[i];
        if (!same_value(value, expected[i]) && !(fabs(value - expected[i]) <= 1e-15 * fabs(expected[i])))
            fail_msg("%s at %zu: %.17g, not %.17g", self.text, i, value, expected[i]);
        if (!isfinite(value) && self.reference[0].tolerance[i] != 0) fail_msg("%s at %zu: a tolerance for %g", self.text, i, value);
    }
    scan_close(&self);
}

/* span = 3: alpha = q = 1/2. */
static void hand_computed_values(void **state) {
    (void)state;
    static const double x[] = {2, 4, NAN, 1};
    check("n=4 span=3", x, (double[]){2, 10. / 3, 10. / 3, (0.25 + 1 + 1) / (0.125 + 0.25 + 1)});
    check("n=4 com=1 adjust=false", x, (double[]){2, 3, 3, (0.25 * 3 + 0.5) / 0.75});
    check("n=4 halflife=1", x, (double[]){2, 10. / 3, 10. / 3, 2.25 / 1.375});
    check("n=4 alpha=0.5 nan=propagate", x, (double[]){2, 10. / 3, NAN, NAN});
    /* Two observations: weights 1/2 and 1, or 1/2 and 1/2: (4 - 2)^2 / 2 whatever they are. */
    check("n=4 span=3 agg=var", x, (double[]){NAN, 2, 2, 40. / 13});
    check("n=3 span=3 agg=std adjust=false", x, (double[]){NAN, sqrt(2), sqrt(2)});
    check("n=4 span=3 agg=var nan=propagate", x, (double[]){NAN, 2, NAN, NAN});
}

static void periods_count_observations(void **state) {
    (void)state;
    static const double x[] = {NAN, 2, NAN, 2, INFINITY, 2};
    check("n=6 min_periods=2", x, (double[]){NAN, NAN, NAN, 2, INFINITY, INFINITY});
    check("n=6 min_periods=0", x, (double[]){NAN, 2, 2, 2, INFINITY, INFINITY});
    check("n=6 min_periods=3 incomplete=inf", x, (double[]){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY});
    check("n=6 min_periods=3 nan=propagate incomplete=inf", x, (double[]){INFINITY, INFINITY, NAN, NAN, NAN, NAN});
    check("n=6 min_periods=100", x, (double[]){NAN, NAN, NAN, NAN, NAN, NAN});
}

static void infinities_stay_and_cancel(void **state) {
    (void)state;
    static const double x[] = {1, -INFINITY, 1, NAN, INFINITY, 1};
    check("n=6 span=3", x, (double[]){1, -INFINITY, -INFINITY, -INFINITY, NAN, NAN});
    check("n=6 span=3 adjust=false agg=var", x, (double[]){NAN, NAN, NAN, NAN, NAN, NAN});
    /* Older elements have no weight at all. */
    check("n=6 span=1", x, (double[]){1, -INFINITY, 1, 1, INFINITY, 1});
    check("n=6 com=0 nan=propagate adjust=false", x, x);
}

static void nothing_leaks_into_another_series(void **state) {
    (void)state;
    Scan self = scan_open("ewm n=9 span=5 segments=mask nan=propagate dtype=f32 input=ones");
    static const double x[] = {1, NAN, 1, 7, 7, INFINITY, 3, 3, NAN};
    static const double expected[] = {1, NAN, NAN, 7, 7, INFINITY, 3, 3, NAN};
    for (size_t i = 0; i < 9; i++) {
        array_set(&self.in[0], i, x[i]);
        array_set(&self.in[1], i, i % 3 == 0);
    }
    scan_reference(&self, 0);
    for (size_t i = 0; i < 9; i++)
        if (!same_value(self.reference[0].value[i], expected[i])) fail_msg("%zu: %g", i, self.reference[0].value[i]);
    scan_close(&self);
}

static void every_bound_of_nothing(void **state) {
    (void)state;
    for (int bound = 0; bound < 3; bound++) {
        Scan self = scan_open("ewm n=0 dtype=f32 input=ones");
        scan_reference(&self, bound);
        scan_close(&self);
    }
}

/* Values whose squares leave the range of doubles. */
static void the_ends_of_the_range(void **state) {
    (void)state;
    static const double magnitudes[] = {0x1p1000, 0x1p-1000, 0x1p-1060, 1};
    for (size_t m = 0; m < 4; m++) {
        const double x[] = {2 * magnitudes[m], 4 * magnitudes[m], 2 * magnitudes[m]};
        check("n=3 span=3", x, (double[]){x[0], 10 * magnitudes[m] / 3, 18 * magnitudes[m] / 7});
        Scan self;
        settle(&self, "n=3 span=3 agg=std", x);
        const double expected = sqrt(2) * magnitudes[m];
        assert_true(fabs(self.reference[0].value[1] - expected) <= 0x1p-52 * expected + 0x1p-1074);
        scan_close(&self);
    }
    /* What has no weight lends no scale either. */
    const double latest[] = {1e300, 1e-150, 2};
    check("n=3 span=1", latest, latest);
}

/* Equal numbers have no spread, whose square would not be a double; after others it fades, but not below their rounding. */
static void equal_numbers_have_no_spread(void **state) {
    (void)state;
    static const double sizes[] = {1e200, 1.7e308, 0.1, 5e-324};
    for (size_t s = 0; s < 4; s++) {
        const double x[] = {sizes[s], sizes[s], sizes[s], sizes[s], sizes[s]};
        check("n=5 span=7 agg=var", x, (double[]){NAN, 0, 0, 0, 0});
        check("n=5 span=300 agg=std adjust=false", x, (double[]){NAN, 0, 0, 0, 0});
    }
    const double zeros[] = {-0.0, -0.0, 0.0};
    check("n=3 span=7", zeros, (double[]){0, 0, 0});
}

static void refuses(const char *words, const char *message) {
    char text[256];
    Case problem;
    const Op *op;
    Array in[2], out[1];
    snprintf(text, sizeof text, "ewm dtype=f64 input=ones %s", words);
    assert_int_equal(case_parse(text, &problem), STATUS_OK);
    assert_int_equal(registry_require_op("ewm", &op), STATUS_OK);
    assert_int_equal(op->shapes(&problem, in, out), STATUS_INVALID);
    if (!strstr(status_message(), message)) fail_msg("'%s' is not in: %s", message, status_message());
}

static void what_it_refuses(void **state) {
    (void)state;
    refuses("span=3 alpha=0.5", "at most one");
    refuses("com=0 halflife=2", "at most one");
    refuses("span=0.5", "span=0.5");
    refuses("com=-0.5", "com=-0.5");
    const Op *op;
    Case problem;
    assert_int_equal(registry_require_op("ewm", &op), STATUS_OK);
    assert_int_equal(case_init(op, &problem), STATUS_OK);
    Array in[2] = {array_1d("x", DTYPE_F32, 12), {.rank = -1}};
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "segments"), "none");
    in[1] = array_1d("starts", DTYPE_U8, 12);
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "segments"), "mask");
    in[1] = array_1d("starts", DTYPE_U8, 11);
    assert_int_equal(op->adopt(in, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "starts: the shape of x, [12]"));
    in[1] = array_1d("starts", DTYPE_I32, 12);
    assert_int_equal(op->adopt(in, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "starts: u8"));
}

/* One thread makes a single pass; several join blocks, of 65536 elements here. A ramp's rounding errors, and a spread that has
 * shrunk much, are not as a block's run-up has them. The first three blocks of the last case have no observation at all. */
static void several_threads_give_the_bits_of_one(void **state) {
    (void)state;
    static const char *const cases[] = {"span=300 dtype=f32",
                                        "span=300 dtype=f64 input=ramp",
                                        "span=300 dtype=f32 agg=var input=offset1e8 adjust=false",
                                        "span=100 dtype=f64 agg=std input=gaps nan=propagate min_periods=150000",
                                        "span=20 dtype=f64 agg=var input=overflow adjust=false",
                                        "alpha=1 dtype=f32 input=naninf",
                                        "span=7 dtype=f32 input=naninf segments=mask",
                                        "span=1000000 dtype=f64 agg=var input=spike1e16",
                                        "halflife=30 dtype=f64 agg=var input=uniform"};
    enum { CASES = sizeof cases / sizeof *cases, BOUNDS = 3 };
    const int before = omp_get_max_threads();
    for (int k = 0; k < CASES * BOUNDS; k++) {
        Scan one = scan_open("ewm n=270003 %s", cases[k / BOUNDS]), several = scan_open("ewm n=270003 %s", cases[k / BOUNDS]);
        for (size_t i = 0; i < 200000 && k / BOUNDS == CASES - 1; i++) {
            array_set(&one.in[0], i, NAN);
            array_set(&several.in[0], i, NAN);
        }
        omp_set_num_threads(1);
        scan_reference(&one, k % BOUNDS);
        omp_set_num_threads(5);
        scan_reference(&several, k % BOUNDS);
        for (size_t i = 0; i < one.n; i++) {
            const Reference *a = one.reference, *b = several.reference;
            if (!same_value(a->value[i], b->value[i]) || a->tolerance[i] != b->tolerance[i])
                fail_msg("%s, bound %d, at %zu: %.17g +- %.17g, not %.17g +- %.17g", one.text, k % BOUNDS, i, b->value[i],
                         b->tolerance[i], a->value[i], a->tolerance[i]);
        }
        scan_close(&one);
        scan_close(&several);
    }
    omp_set_num_threads(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_computed_values),
        cmocka_unit_test(periods_count_observations),
        cmocka_unit_test(infinities_stay_and_cancel),
        cmocka_unit_test(nothing_leaks_into_another_series),
        cmocka_unit_test(every_bound_of_nothing),
        cmocka_unit_test(the_ends_of_the_range),
        cmocka_unit_test(equal_numbers_have_no_spread),
        cmocka_unit_test(what_it_refuses),
        cmocka_unit_test(several_threads_give_the_bits_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
