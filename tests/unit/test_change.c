#include "base/change.h"
#include "base/rng.h"
#include "verify/families.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5003, CHANGES = 400 };

static Array fill(const char *family, DType dtype) {
    Case problem = {.op = "none", .dtype = dtype, .seed = 3};
    Array array = array_1d("x", dtype, N);
    snprintf(problem.input, sizeof problem.input, "%s", family);
    array.data = calloc(N, dtype_size(dtype));
    if (!array.data || family_fill(&problem, 0, &array) != STATUS_OK) fail_msg("%s: %s", family, status_message());
    return array;
}

static double at(const Array *array, size_t i) {
    return array->dtype == DTYPE_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
}

static void apply(Array *array, const Change *change) {
    const size_t size = dtype_size(array->dtype);
    char *data = array->data;
    assert_true(change->begin < change->end && change->end <= N && change->from < N);
    for (size_t i = change->begin; i < change->end; i++) memcpy(data + i * size, data + change->from * size, size);
}

static bool ascends(const Array *array) {
    for (size_t i = 1; i < N; i++)
        if (!(at(array, i - 1) <= at(array, i))) return false;
    return true;
}

/* One after the other on the same array: no number of them may undo what each keeps. */
static void what_ascends_still_does(void **state) {
    (void)state;
    static const char *const families[] = {"ramp", "sorted"};
    for (size_t f = 0; f < 2; f++)
        for (int dtype = DTYPE_F32; dtype <= DTYPE_F64; dtype++) {
            Array array = fill(families[f], (DType)dtype), before = fill(families[f], (DType)dtype);
            for (uint64_t key = 0; key < CHANGES; key++) {
                Change change;
                assert_true(change_draw(&array, key, key % 2 ? 1 : 40, &change));
                assert_true(change.end - change.begin <= (key % 2 ? 1 : 40));
                assert_true(at(&array, change.begin) != at(&array, change.from) ||
                            at(&array, change.end - 1) != at(&array, change.from));
                apply(&array, &change);
                assert_true(ascends(&array));
            }
            assert_memory_not_equal(array.data, before.data, array_bytes(&array));
            free(array.data);
            free(before.data);
        }
}

/* Of equal numbers, a step moves. */
static void steps_between_equal_numbers_move(void **state) {
    (void)state;
    Array array = array_1d("x", DTYPE_F64, N);
    double *x = array.data = calloc(N, sizeof *x);
    for (size_t i = 0; i < N; i++) x[i] = (double)(i / 100);
    for (uint64_t key = 0; key < CHANGES; key++) {
        Change change;
        assert_true(change_draw(&array, key, key % 2 ? 1 : 8, &change));
        apply(&array, &change);
        assert_true(ascends(&array));
    }
    free(x);
}

static void nan_and_infinities_stay(void **state) {
    (void)state;
    static const char *const families[] = {"naninf", "gaps"};
    for (size_t f = 0; f < 2; f++) {
        Array array = fill(families[f], DTYPE_F64), before = fill(families[f], DTYPE_F64);
        for (uint64_t key = 0; key < CHANGES; key++) {
            Change change;
            if (change_draw(&array, key, 8, &change)) apply(&array, &change);
        }
        size_t changed = 0;
        for (size_t i = 0; i < N; i++) {
            const double a = at(&array, i), b = at(&before, i);
            assert_true(isnan(a) == isnan(b) && isinf(a) == isinf(b));
            assert_true(!isinf(a) || a == b);
            changed += isfinite(a) && a != b;
        }
        assert_true(changed > CHANGES / 2);
        free(array.data);
        free(before.data);
    }
}

/* Where order admits it, an element becomes one from anywhere in the array. */
static void an_element_becomes_any_other(void **state) {
    (void)state;
    Array array = fill("normal", DTYPE_F64);
    size_t far = 0;
    for (uint64_t key = 0; key < CHANGES; key++) {
        Change change;
        assert_true(change_draw(&array, key, 1, &change) && change.end == change.begin + 1);
        far += change.from + 10 < change.begin || change.begin + 10 < change.from;
    }
    assert_true(far > CHANGES * 9 / 10);
    free(array.data);
}

static void numbers_that_are_alike_stay(void **state) {
    (void)state;
    Change change;
    Array array = fill("ones", DTYPE_F64);
    assert_false(change_draw(&array, 1, 8, &change));
    free(array.data);
    array = array_1d("x", DTYPE_F64, 1);
    assert_false(change_draw(&array, 1, 8, &change));
    array = array_1d("x", DTYPE_I32, 100);
    assert_false(change_draw(&array, 1, 8, &change));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ascends_still_does),     cmocka_unit_test(steps_between_equal_numbers_move),
        cmocka_unit_test(nan_and_infinities_stay),     cmocka_unit_test(an_element_becomes_any_other),
        cmocka_unit_test(numbers_that_are_alike_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
