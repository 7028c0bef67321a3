#include "base/poison.h"
#include "base/rng.h"
#include "verify/norms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static ErrorReport compare(double *actual, const double *value, const double *tolerance, size_t n) {
    Array array = array_1d("y", DTYPE_F64, n);
    array.data = actual;
    ErrorReport report;
    memset(&report, 0xff, sizeof report); /* what it held before must not matter */
    norms_compare(&array, value, tolerance, &report);
    return report;
}

static ErrorReport compare_one(double actual, double value, double tolerance) {
    return compare(&actual, &value, &tolerance, 1);
}

static ErrorReport compare_one_f32(float actual, double value, double tolerance) {
    Array array = array_1d("y", DTYPE_F32, 1);
    array.data = &actual;
    ErrorReport report;
    norms_compare(&array, &value, &tolerance, &report);
    return report;
}

static void verdict_of_single_elements(void **state) {
    (void)state;
    static const struct {
        double actual, value, tolerance;
        bool pass;
        size_t incomparable;
    } known[] = {
        {1, 1, 0, true, 0},
        {0x1.0000000000001p+0, 1, 0, false, 0}, /* zero tolerance demands equality */
        {1.5, 1, 0.5, true, 0},                 /* exactly at the bound */
        {1.5, 1, 0x1.fffffffffffffp-2, false, 0},
        {-0.0, 0, 0, true, 0},
        {NAN, 1, INFINITY, false, 1},
        {INFINITY, 1, INFINITY, false, 1},
        {1, NAN, INFINITY, false, 1},
        {1, INFINITY, INFINITY, false, 1},
        {-INFINITY, INFINITY, INFINITY, false, 1},
        {NAN, INFINITY, 1, false, 1},
        {INFINITY, NAN, 1, false, 1},
        {NAN, NAN, 0, true, 0},
        {INFINITY, INFINITY, 0, true, 0},
        {-INFINITY, -INFINITY, 0, true, 0},
        {1, 1, NAN, false, 0}, /* a broken tolerance passes nothing */
        {1, 1, -1, false, 0},
        {DBL_MAX, -DBL_MAX, DBL_MAX, false, 0}, /* the error overflows */
        {2, 1, INFINITY, true, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const ErrorReport r = compare_one(known[i].actual, known[i].value, known[i].tolerance);
        if (r.pass != known[i].pass || r.incomparable != known[i].incomparable)
            fail_msg("%a against %a within %a: pass %d, incomparable %zu", known[i].actual, known[i].value, known[i].tolerance,
                     r.pass, r.incomparable);
        if (known[i].pass != (r.max_ratio <= 1 && r.incomparable == 0)) fail_msg("case %zu: ratio %a", i, r.max_ratio);
        char text[256];
        assert_int_equal(strlen(norms_explain(&r, "y", NULL, text, sizeof text)) == 0, known[i].pass);
    }
}

static void ratios_of_zero(void **state) {
    (void)state;
    assert_true(compare_one(1, 1, 0).max_ratio == 0);
    assert_true(compare_one(2, 1, 0).max_ratio == INFINITY);
    assert_true(compare_one(2, 1, 4).max_ratio == 0.25);
}

static void ulps_are_those_of_the_output(void **state) {
    (void)state;
    assert_true(compare_one(1 + 3 * DBL_EPSILON, 1, 1).max_ulp == 3);
    assert_true(compare_one(nextafter(2, 0), 2, 1).max_ulp == 0.5); /* spacing at the reference, not below it */
    assert_true(compare_one(0x1p-1074, 0, 1).max_ulp == 1);
    assert_true(compare_one(0x5p-1074, 0x3p-1074, 1).max_ulp == 2);
    assert_true(compare_one(nextafter(DBL_MAX, 0), DBL_MAX, DBL_MAX).max_ulp == 1);
    assert_true(compare_one_f32(1 + 2 * FLT_EPSILON, 1, 1).max_ulp == 2);
    assert_true(compare_one_f32(0x1p-149f, 0, 1).max_ulp == 1);
    assert_true(compare_one_f32(1, 1 + 0x1p-25, 1).max_ulp == 0.25); /* a reference between two floats */
    assert_true(compare_one_f32(0x1.8p-127f, 0x1p-127, 1).max_ulp == 0x1p21);
}

static void norms_of_a_small_vector(void **state) {
    (void)state;
    double actual[] = {1, 2.5, 0, -4}, value[] = {1, 2, 0, -4.5}, tolerance[] = {0, 1, 0, 0.25};
    const ErrorReport r = compare(actual, value, tolerance, 4);
    assert_false(r.pass);
    assert_int_equal(r.count, 4);
    assert_true(r.max_absolute == 0.5 && r.max_relative == 0.25 && r.max_ratio == 2);
    assert_int_equal(r.worst, 3);
    assert_true(r.worst_truth == -4.5 && r.worst_actual == -4 && r.worst_tolerance == 0.25);
    assert_true(fabs(r.l2_relative - sqrt(0.5 / (1 + 4 + 20.25))) < 1e-15);
}

static void huge_values_do_not_overflow_the_norm(void **state) {
    (void)state;
    const ErrorReport r = compare_one(1.5e300, 1e300, 1e300);
    assert_true(fabs(r.l2_relative - 0.5) < 1e-15 && r.pass);
}

static void empty_passes(void **state) {
    (void)state;
    const ErrorReport r = compare(NULL, NULL, NULL, 0);
    assert_true(r.pass && r.count == 0 && r.max_ratio == 0);
}

static void all_nan_fails(void **state) {
    (void)state;
    enum { N = 100000 };
    double *actual = malloc(N * sizeof *actual), *zeros = calloc(N, sizeof *zeros);
    for (size_t i = 0; i < N; i++) actual[i] = NAN;
    const ErrorReport r = compare(actual, zeros, zeros, N);
    assert_false(r.pass);
    assert_int_equal(r.incomparable, N);
    assert_int_equal(r.first_incomparable, 0);
    free(actual);
    free(zeros);
}

static void poison_is_unwritten(void **state) {
    (void)state;
    enum { N = 1000 };
    double actual[N], value[N], tolerance[N];
    for (size_t i = 0; i < N; i++) actual[i] = value[i] = (double)i, tolerance[i] = INFINITY;
    memset(actual + 700, POISON_BYTE, 300 * sizeof *actual);
    ErrorReport r = compare(actual, value, tolerance, N);
    assert_false(r.pass);
    assert_int_equal(r.unwritten, 300);
    assert_int_equal(r.first_unwritten, 700);
    char text[256];
    norms_explain(&r, "y", NULL, text, sizeof text);
    assert_non_null(strstr(text, "y[700] was never written"));
    float single;
    memset(&single, POISON_BYTE, sizeof single);
    assert_false(compare_one_f32(single, 0, 1).pass);
}

/* A correct value that equals the poison: the next pattern tells whether anybody wrote it. */
static void a_value_like_poison_is_told_by_the_next_pattern(void **state) {
    (void)state;
    double like[POISON_PATTERNS], tolerance = 0, far = 1;
    for (int p = 0; p < POISON_PATTERNS; p++) memset(&like[p], POISONS[p], sizeof like[p]);
    Array array = array_1d("y", DTYPE_F64, 1);
    ErrorReport r;
    array.data = &like[0];
    norms_compare_poisoned(&array, &like[0], &tolerance, POISONS[0], &r);
    assert_true(!r.pass && r.undecided && r.unwritten == 1);
    norms_compare_poisoned(&array, &like[0], &tolerance, POISONS[1], &r);
    assert_true(r.pass && !r.undecided);
    norms_compare_poisoned(&array, &far, &tolerance, POISONS[0], &r); /* wrong whether written or not */
    assert_true(!r.pass && !r.undecided);
    for (int p = 1; p < POISON_PATTERNS; p++) { /* within tolerance of every number, and never written: no pattern passes */
        const double value = 0, wide = INFINITY;
        array.data = &like[p];
        norms_compare_poisoned(&array, &value, &wide, POISONS[p], &r);
        assert_true(!r.pass && r.undecided);
    }
    double two[] = {like[0], NAN}, values[] = {like[0], 1}, tolerances[] = {0, 0};
    array.shape[0] = 2, array.data = two;
    norms_compare_poisoned(&array, values, tolerances, POISONS[0], &r); /* something else is wrong: that decides */
    assert_true(!r.pass && !r.undecided);
    float single, value_f32;
    memset(&single, POISONS[2], sizeof single);
    value_f32 = single;
    Array narrow = array_1d("y", DTYPE_F32, 1);
    narrow.data = &single;
    const double as_double = value_f32;
    norms_compare_poisoned(&narrow, &as_double, &tolerance, POISONS[2], &r);
    assert_true(r.undecided);
}

/* The worst of a large array is found wherever it is, and the report is the same for any number of threads. */
static void worst_element_of_a_large_array(void **state) {
    (void)state;
    enum { N = 300007 };
    double *actual = malloc(N * sizeof *actual), *value = malloc(N * sizeof *value), *tolerance = malloc(N * sizeof *tolerance);
    static const size_t places[] = {0, 1, 1171, 1172, N / 2, N - 1};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        for (size_t i = 0; i < N; i++) {
            value[i] = rng_uniform(1, i);
            tolerance[i] = 0x1p-20;
            actual[i] = value[i] + (rng_uniform(2, i) - 0.5) * 0x1p-20;
        }
        actual[places[p]] = value[places[p]] + 0x1p-19;
        omp_set_num_threads(1);
        const ErrorReport one = compare(actual, value, tolerance, N);
        omp_set_num_threads(4);
        const ErrorReport four = compare(actual, value, tolerance, N);
        assert_int_equal(one.worst, places[p]);
        assert_false(one.pass);
        assert_true(one.max_ratio > 1.99 && one.max_ratio < 2.01);
        assert_true(one.l2_relative == four.l2_relative && one.worst == four.worst && one.max_ulp == four.max_ulp);
        actual[places[p]] = NAN;
        const ErrorReport nan = compare(actual, value, tolerance, N);
        assert_true(!nan.pass && nan.incomparable == 1 && nan.first_incomparable == places[p] && nan.worst == places[p]);
        assert_true(isnan(nan.worst_actual) && nan.max_ratio <= 1);
        actual[places[p]] = value[places[p]];
        assert_true(compare(actual, value, tolerance, N).pass);
    }
    free(actual);
    free(value);
    free(tolerance);
}

static void explanations_name_place_and_exact_values(void **state) {
    (void)state;
    double actual[] = {1, 1.5}, value[] = {1, 1}, tolerance[] = {0, 0.125}, x[] = {3, 0.1};
    const ErrorReport r = compare(actual, value, tolerance, 2);
    Array input = array_1d("x", DTYPE_F64, 2);
    input.data = x;
    char text[512];
    norms_explain(&r, "y", &input, text, sizeof text);
    static const char *const parts[] = {"y[1] is 1.5 (0x1.8p+0)", "expected 1 (0x1p+0)", "within 0.125",
                                        "x[1] is 0.1 (0x1.999999999999ap-4)", "4 times"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i])) fail_msg("'%s' is not in: %s", parts[i], text);
    char small[20];
    norms_explain(&r, "y", &input, small, sizeof small);
    assert_int_equal(strlen(small), sizeof small - 1);
    static const char *const nan_parts[] = {"y[0] is -nan", "y[0] is nan"};
    const ErrorReport nan = compare_one(NAN, 1, 1);
    norms_explain(&nan, "y", NULL, text, sizeof text);
    assert_true(strstr(text, nan_parts[0]) || strstr(text, nan_parts[1]));
}

/* Values of both signs and a 0, tolerances about them. */
static void tolerances_that_let_zero_pass_are_not_judgeable(void **state) {
    (void)state;
    static const struct {
        double value[4], tolerance[4], vacuous;
        bool judgeable;
    } known[] = {
        {{1, -2, 3, 4}, {0.5, 1, 1, 1}, 0, true},
        {{1, -2, 3, 4}, {1, 2, 3, 4}, 1, false}, /* a tolerance of the value's size: 0 is exactly at the bound */
        {{1, -2, 3, 4}, {1, 2, 1, 1}, 0.5, true},
        {{1, -2, 3, 4}, {1, 2, 3, 1}, 0.75, false},
        {{0, 0, 3, 4}, {5, 5, 1, 1}, 0, true},   /* cancelled exactly: 0 is right */
        {{0, 0, 0, 0}, {5, 5, 0, 0}, 0, true},   /* likewise, all of them */
        {{0, 0, 3, -4}, {5, 5, 3, 5}, 1, false}, /* of those that count, all */
        {{NAN, INFINITY, 3, 4}, {0, 0, 4, 1}, 0.5, true},
        {{NAN, INFINITY, -INFINITY, NAN}, {0, 0, 0, 0}, 0, true},
        {{1, 2, 3, 4}, {NAN, NAN, NAN, 1}, 0.75, false}, /* a broken tolerance */
        {{1, 2, 3, 4}, {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}, 1, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double actual[4];
        memcpy(actual, known[i].value, sizeof actual);
        const ErrorReport r = compare(actual, known[i].value, known[i].tolerance, 4);
        if (r.vacuous != known[i].vacuous || r.judgeable != known[i].judgeable)
            fail_msg("case %zu: %a of the elements, judgeable %d", i, r.vacuous, r.judgeable);
    }
    double none = 0;
    assert_true(compare(&none, &none, &none, 0).judgeable);
    double zeros[] = {0, 0, 0, 0}, value[] = {1, -2, 3, 4}, tolerance[] = {1, 2, 3, 4};
    const ErrorReport r = compare(zeros, value, tolerance, 4); /* what the share is about */
    assert_true(r.pass && !r.judgeable);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict_of_single_elements),
        cmocka_unit_test(ratios_of_zero),
        cmocka_unit_test(ulps_are_those_of_the_output),
        cmocka_unit_test(norms_of_a_small_vector),
        cmocka_unit_test(huge_values_do_not_overflow_the_norm),
        cmocka_unit_test(empty_passes),
        cmocka_unit_test(all_nan_fails),
        cmocka_unit_test(poison_is_unwritten),
        cmocka_unit_test(a_value_like_poison_is_told_by_the_next_pattern),
        cmocka_unit_test(worst_element_of_a_large_array),
        cmocka_unit_test(explanations_name_place_and_exact_values),
        cmocka_unit_test(tolerances_that_let_zero_pass_are_not_judgeable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
