/* The reference of `rolling` against 400-bit brute force, hand-computed values, and itself on other numbers of threads. */
#include "rolling_support.h"

#include <math.h>
#include <mpfr.h>
#include <omp.h>
#include <string.h>

enum { BITS = 400 };

static mpfr_t sum, squares, term;

/* The definition, over one window, as a double (rounded once). */
static double brute_force(const Rolling *self, const char *agg, size_t i) {
    const size_t first = i + 1 - self->window;
    const double w = (double)self->window;
    bool nan = false, plus = false, minus = false;
    double least = INFINITY, most = -INFINITY;
    mpfr_set_zero(sum, 1);
    mpfr_set_zero(squares, 1);
    for (size_t j = first; j <= i; j++) {
        const double x = rolling_x(self, j);
        nan = nan || isnan(x);
        plus = plus || (isinf(x) && x > 0);
        minus = minus || (isinf(x) && x < 0);
        least = x < least ? x : least;
        most = x > most ? x : most;
        if (isfinite(x)) mpfr_add_d(sum, sum, x, MPFR_RNDN);
    }
    if (strcmp(agg, "min") == 0) return nan ? NAN : least;
    if (strcmp(agg, "max") == 0) return nan ? NAN : most;
    const bool spread = strcmp(agg, "var") == 0 || strcmp(agg, "std") == 0;
    if (nan || (plus && minus) || (spread && (plus || minus || self->window == 1))) return NAN;
    if (plus || minus) return plus ? INFINITY : -INFINITY;
    if (strcmp(agg, "sum") == 0) return mpfr_get_d(sum, MPFR_RNDN);
    mpfr_div_d(sum, sum, w, MPFR_RNDN);
    if (!spread) return mpfr_get_d(sum, MPFR_RNDN);
    for (size_t j = first; j <= i; j++) {
        mpfr_d_sub(term, rolling_x(self, j), sum, MPFR_RNDN);
        mpfr_sqr(term, term, MPFR_RNDN);
        mpfr_add(squares, squares, term, MPFR_RNDN);
    }
    mpfr_div_d(squares, squares, w - 1, MPFR_RNDN);
    if (strcmp(agg, "std") == 0) mpfr_sqrt(squares, squares, MPFR_RNDN);
    return mpfr_get_d(squares, MPFR_RNDN);
}

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Rounded once: the neighbour is allowed where the exact value is all but half way. */
static void check_against_brute_force(Rolling *self, const char *agg, size_t stride) {
    for (size_t i = 0; i < self->n; i += i < self->window || i + self->window > self->n ? 1 : stride) {
        const double value = self->reference.value[i], tolerance = self->reference.tolerance[i];
        if (!(tolerance >= 0)) fail_msg("%s: tolerance %a at %zu", self->text, tolerance, i);
        if (i + 1 < self->window) {
            if (!isnan(value)) fail_msg("%s: %a at %zu, in an incomplete window", self->text, value, i);
            continue;
        }
        double expected = brute_force(self, agg, i);
        if (!same(value, expected) && !(fabs(value - expected) <= 0x1p-52 * fabs(expected) + 0x1p-1074))
            fail_msg("%s at %zu: %a, not %a", self->text, i, value, expected);
    }
}

static const char *const AGGS[] = {"mean", "sum", "var", "std", "min", "max"};
enum { AGG_COUNT = sizeof AGGS / sizeof *AGGS };

static void every_family_agrees_with_brute_force(void **state) {
    (void)state;
    static const char *const families[] = {"uniform",   "normal",    "ones",      "ramp",        "constant", "integers",
                                           "offset1e3", "offset1e8", "spike1e16", "alternating", "mixed",    "denormal",
                                           "naninf",    "sorted",    "heavytail", "outlier"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int a = 0; a < AGG_COUNT; a++)
            for (int f32 = 0; f32 < 2; f32++) {
                Rolling self = rolling_open("rolling agg=%s n=1500 window=37 dtype=%s input=%s seed=3", AGGS[a],
                                            f32 ? "f32" : "f64", families[f]);
                rolling_reference_of(&self, 0);
                check_against_brute_force(&self, AGGS[a], 1);
                rolling_close(&self);
            }
}

static void every_window_agrees_with_brute_force(void **state) {
    (void)state;
    static const size_t windows[] = {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 127, 300, 511, 512, 513, 599, 600, 601};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (int a = 0; a < AGG_COUNT; a++) {
            Rolling self = rolling_open("rolling agg=%s n=600 window=%zu dtype=f64 input=naninf seed=%zu", AGGS[a], windows[w], w);
            rolling_reference_of(&self, 0);
            check_against_brute_force(&self, AGGS[a], 1);
            rolling_close(&self);
        }
}

/* Windows that hold whole tiles, with and without the tree over them. */
static void long_windows_agree_with_brute_force(void **state) {
    (void)state;
    static const struct {
        size_t n, window;
        const char *input;
    } cases[] = {{20000, 4095, "offset1e8"},  {20000, 4096, "mixed"},        {20000, 4097, "heavytail"},
                 {20000, 8191, "offset1e8"},  {20000, 8192, "normal"},       {20000, 8193, "spike1e16"},
                 {40961, 12289, "offset1e8"}, {40961, 40961, "alternating"}, {20000, 16000, "naninf"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int a = 0; a < AGG_COUNT; a++) {
            Rolling self = rolling_open("rolling agg=%s n=%zu window=%zu dtype=f64 input=%s seed=11", AGGS[a], cases[c].n,
                                        cases[c].window, cases[c].input);
            rolling_reference_of(&self, 0);
            for (size_t i = cases[c].window - 1; i < self.n; i += 997) {
                const double expected = brute_force(&self, AGGS[a], i), value = self.reference.value[i];
                if (!same(value, expected) && !(fabs(value - expected) <= 0x1p-52 * fabs(expected) + 0x1p-1074))
                    fail_msg("%s at %zu: %a, not %a", self.text, i, value, expected);
            }
            rolling_close(&self);
        }
}

/* Values near the ends of the range of doubles; a mean whose sum overflows; planted by hand. */
static void the_ends_of_the_range_are_right(void **state) {
    (void)state;
    static const double magnitudes[] = {0x1.8p1023, 0x1p520, 0x1p-500, 0x1p-1000, 0x1p-1060};
    static const char *const aggs[] = {"mean", "std", "max"};
    for (size_t m = 0; m < sizeof magnitudes / sizeof *magnitudes; m++)
        for (size_t a = 0; a < 3; a++) {
            Rolling self = rolling_open("rolling agg=%s n=300 window=17 dtype=f64 input=uniform seed=5", aggs[a]);
            for (size_t i = 0; i < self.n; i++) rolling_set_x(&self, i, rolling_x(&self, i) * magnitudes[m]);
            rolling_reference_of(&self, 0);
            for (size_t i = 16; i < self.n; i++) {
                const double expected = brute_force(&self, aggs[a], i), value = self.reference.value[i];
                if (!(fabs(value - expected) <= 0x1p-52 * expected + 0x1p-1074))
                    fail_msg("%s, 2^%d, %zu: %a, not %a", self.text, ilogb(magnitudes[m]), i, value, expected);
            }
            rolling_close(&self);
        }
    Rolling sums = rolling_open("rolling agg=sum n=4 window=2 dtype=f32 input=ones seed=0");
    for (size_t i = 0; i < 4; i++) rolling_set_x(&sums, i, i < 2 ? 0x1.8p126 : 0x1.8p127);
    rolling_reference_of(&sums, 0);
    assert_true(sums.reference.value[1] == 0x1.8p127);
    assert_true(isinf(sums.reference.value[3])); /* beyond f32, though not beyond the reference's double */
    rolling_close(&sums);
}

static void hand_computed_values(void **state) {
    (void)state;
    static const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    static const struct {
        const char *agg;
        double expected[8];
    } cases[] = {{"sum", {NAN, NAN, NAN, 14, 17, 18, 21, 26}},
                 {"mean", {NAN, NAN, NAN, 3.5, 4.25, 4.5, 5.25, 6.5}},
                 {"var", {NAN, NAN, NAN, 1, 0.25, 1. / 3, 4.75 / 3, 11. / 3}},
                 {"min", {NAN, NAN, NAN, 2, 4, 4, 4, 5}},
                 {"max", {NAN, NAN, NAN, 4, 5, 5, 7, 9}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Rolling self = rolling_open("rolling agg=%s n=8 window=4 dtype=f64 input=ones seed=0", cases[c].agg);
        memcpy(self.x.data, x, sizeof x);
        rolling_reference_of(&self, 0);
        for (size_t i = 0; i < 8; i++)
            if (!same(self.reference.value[i], cases[c].expected[i]))
                fail_msg("%s at %zu: %a, not %a", cases[c].agg, i, self.reference.value[i], cases[c].expected[i]);
        rolling_close(&self);
    }
}

static void incomplete_windows_and_empty_arrays(void **state) {
    (void)state;
    Rolling self = rolling_open("rolling agg=var n=5 window=6 dtype=f64 input=uniform incomplete=inf seed=0");
    rolling_reference_of(&self, 0);
    for (size_t i = 0; i < 5; i++) assert_true(isinf(self.reference.value[i]) && self.reference.value[i] > 0);
    rolling_close(&self);
    Rolling huge = rolling_open("rolling agg=max n=5 window=2^40 dtype=f32 input=uniform seed=0");
    rolling_reference_of(&huge, 0);
    for (size_t i = 0; i < 5; i++) assert_true(isnan(huge.reference.value[i]) && huge.reference.tolerance[i] == 0);
    rolling_close(&huge);
    Rolling empty = rolling_open("rolling agg=mean n=0 window=3 dtype=f64 input=uniform seed=0");
    rolling_reference_of(&empty, 0);
    rolling_close(&empty);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    for (int a = 0; a < AGG_COUNT; a++)
        for (int bound = 0; bound < 4; bound++) {
            Rolling one = rolling_open("rolling agg=%s n=60000 window=9001 dtype=f64 input=heavytail seed=2", AGGS[a]);
            Rolling many = rolling_open("rolling agg=%s n=60000 window=9001 dtype=f64 input=heavytail seed=2", AGGS[a]);
            omp_set_num_threads(1);
            rolling_reference_of(&one, bound);
            omp_set_num_threads(7);
            rolling_reference_of(&many, bound);
            assert_memory_equal(one.reference.value + 9000, many.reference.value + 9000, (one.n - 9000) * sizeof(double));
            assert_memory_equal(one.reference.tolerance, many.reference.tolerance, one.n * sizeof(double));
            rolling_close(&one);
            rolling_close(&many);
        }
}

static void looser_bounds_are_looser_and_extremes_exact(void **state) {
    (void)state;
    for (int a = 0; a < AGG_COUNT; a++) {
        Rolling self = rolling_open("rolling agg=%s n=5000 window=200 dtype=f64 input=offset1e3 seed=2", AGGS[a]);
        rolling_reference_of(&self, 0);
        double *own = malloc(self.n * sizeof *own);
        memcpy(own, self.reference.tolerance, self.n * sizeof *own);
        for (int bound = 1; bound < 4; bound++) {
            rolling_reference_of(&self, bound);
            for (size_t i = 3000; i < self.n; i++)
                if (a >= 4 ? self.reference.tolerance[i] != 0 : !(self.reference.tolerance[i] > own[i]))
                    fail_msg("%s, bound %d: %a at %zu, default %a", AGGS[a], bound, self.reference.tolerance[i], i, own[i]);
        }
        free(own);
        rolling_close(&self);
    }
}

static void exact_sums_leave_no_room(void **state) {
    (void)state;
    Rolling sums = rolling_open("rolling agg=sum n=70000 window=65536 dtype=f32 input=integers seed=2");
    rolling_reference_of(&sums, 0);
    for (size_t i = 65536; i < sums.n; i++) assert_true(sums.reference.tolerance[i] == 0);
    rolling_close(&sums);
    /* On a ramp, exact only while the window's sum stays below 2^24. */
    Rolling ramp = rolling_open("rolling agg=mean n=30000 window=1000 dtype=f32 input=ramp seed=2");
    rolling_reference_of(&ramp, 0);
    assert_true(ramp.reference.value[1999] == 1499.5 && ramp.reference.tolerance[1999] <= 3.01 * 0x1p-24 * 1499.5);
    assert_true(ramp.reference.tolerance[25000] > 100 * 0x1p-24 * 25000);
    rolling_close(&ramp);
}

/* Where all sums of a row of integers are exact, their ranges are not looked at. A last element that makes it look changes no
 * window before it. */
static void sums_known_to_be_exact_have_the_same_bounds(void **state) {
    (void)state;
    enum { N = 10000, BEFORE = N - 500, BOUNDS = 5 };
    static const char *const aggs[] = {"sum", "mean"};
    for (int k = 0; k < 2; k++)
        for (int bound = 0; bound < BOUNDS; bound++) {
            Rolling known = rolling_open("rolling agg=%s n=10000 window=300 dtype=f64 input=integers seed=3", aggs[k]);
            Rolling looked = rolling_open("rolling agg=%s n=10000 window=300 dtype=f64 input=integers seed=3", aggs[k]);
            rolling_set_x(&looked, N - 1, 0x1p60);
            rolling_reference_of(&known, bound);
            rolling_reference_of(&looked, bound);
            assert_memory_equal(known.reference.value, looked.reference.value, BEFORE * sizeof(double));
            assert_memory_equal(known.reference.tolerance, looked.reference.tolerance, BEFORE * sizeof(double));
            assert_true(looked.reference.tolerance[N - 1] > 0);
            rolling_close(&known);
            rolling_close(&looked);
        }
}

/* Windows that do not hold it are what they would be without it, and so are their tolerances. */
static void a_huge_number_leaves_no_trace(void **state) {
    (void)state;
    enum { N = 200, AT = 3, WINDOW = 10 };
    static const double sizes[] = {1e150, 1.7e308, 1e-310};
    for (int a = 0; a < AGG_COUNT; a++)
        for (int s = 0; s < 3; s++) {
            Rolling with = rolling_open("rolling agg=%s n=%d window=%d dtype=f64 input=normal seed=1", AGGS[a], N, WINDOW);
            Rolling without = rolling_open("rolling agg=%s n=%d window=%d dtype=f64 input=normal seed=1", AGGS[a], N, WINDOW);
            rolling_set_x(&with, AT, sizes[s]);
            rolling_reference_of(&with, 0);
            rolling_reference_of(&without, 0);
            for (size_t i = AT + WINDOW; i < N; i++) {
                assert_true(with.reference.value[i] == without.reference.value[i]);
                assert_true(with.reference.tolerance[i] == without.reference.tolerance[i]);
            }
            rolling_close(&with);
            rolling_close(&without);
        }
}

/* Tolerances that let 0 pass say nothing; a mean of random signs may be near 0. */
static void zero_does_not_pass(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double share; /* of outputs */
    } cases[] = {{"agg=mean n=300000 window=200000 dtype=f32 input=normal", 0.01},
                 {"agg=mean n=20000 window=300 dtype=f64 input=normal", 0.001},
                 {"agg=var n=20000 window=3000 dtype=f32 input=offset1e3", 0},
                 {"agg=std n=20000 window=3000 dtype=f32 input=offset1e6", 0},
                 {"agg=std n=20000 window=300 dtype=f32 input=offset1e6", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Rolling self = rolling_open("rolling %s seed=3", cases[c].text);
        rolling_reference_of(&self, 0);
        size_t passes = 0;
        for (size_t i = self.window - 1; i < self.n; i++) passes += fabs(self.reference.value[i]) <= self.reference.tolerance[i];
        if ((double)passes > cases[c].share * (double)(self.n - self.window + 1))
            fail_msg("%s: 0 passes %zu times", self.text, passes);
        rolling_close(&self);
    }
}

/* What one element may err by, in units in the last place of a result near 1: docs/ops/rolling.md quotes these. */
static void bounds_are_as_sharp_as_documented(void **state) {
    (void)state;
    static const struct {
        const char *agg;
        int window;
        double ulps;
    } cases[] = {{"mean", 64, 64}, {"mean", 300, 81}, {"mean", 3000, 231}, {"var", 300, 72}, {"var", 3000, 192}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int f32 = 0; f32 < 2; f32++) {
            Rolling self = rolling_open("rolling agg=%s n=20000 window=%d dtype=%s input=uniform seed=3", cases[c].agg,
                                        cases[c].window, f32 ? "f32" : "f64");
            rolling_reference_of(&self, 0);
            for (size_t i = self.window - 1; i < self.n; i++) {
                const double place = ldexp(1, ilogb(self.reference.value[i]) - (f32 ? 23 : 52));
                if (!(self.reference.tolerance[i] <= cases[c].ulps * place))
                    fail_msg("%s at %zu: %g units", self.text, i, self.reference.tolerance[i] / place);
            }
            rolling_close(&self);
        }
}

static void shapes_and_adoption(void **state) {
    (void)state;
    Case problem;
    assert_int_equal(case_init(&rungs_op_rolling, &problem), STATUS_OK);
    Array x = array_1d("x", DTYPE_F32, 12345);
    assert_int_equal(rungs_op_rolling.adopt(&x, &problem), STATUS_OK);
    assert_int_equal(params_int(&problem.params, "n"), 12345);
    assert_int_equal(problem.dtype, DTYPE_F32);
    x.rank = 2;
    assert_int_equal(rungs_op_rolling.adopt(&x, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "x: one dimension"));
    x = array_1d("x", DTYPE_I64, 3);
    assert_int_equal(rungs_op_rolling.adopt(&x, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "i64"));
    assert_int_equal(case_parse("rolling agg=var n=1000 window=10 dtype=f32 input=normal seed=1", &problem), STATUS_OK);
    const Work work = rungs_op_rolling.work(&problem);
    assert_true(work.bytes == 8000 && work.flops == 991. * 10 * 3);
}

int main(void) {
    mpfr_inits2(BITS, sum, squares, term, (mpfr_ptr)0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_agrees_with_brute_force),
        cmocka_unit_test(every_window_agrees_with_brute_force),
        cmocka_unit_test(long_windows_agree_with_brute_force),
        cmocka_unit_test(the_ends_of_the_range_are_right),
        cmocka_unit_test(hand_computed_values),
        cmocka_unit_test(incomplete_windows_and_empty_arrays),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(looser_bounds_are_looser_and_extremes_exact),
        cmocka_unit_test(exact_sums_leave_no_room),
        cmocka_unit_test(sums_known_to_be_exact_have_the_same_bounds),
        cmocka_unit_test(a_huge_number_leaves_no_trace),
        cmocka_unit_test(zero_does_not_pass),
        cmocka_unit_test(bounds_are_as_sharp_as_documented),
        cmocka_unit_test(shapes_and_adoption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
