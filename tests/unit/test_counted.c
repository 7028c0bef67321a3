/* A row's further processes repeat the counts of the first. */
#include "pipeline/counted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static json_t *row_of(const char *problem, json_t *counts) {
    return json_pack("{s:s, s:s, s:s, s:o, s:s}", "case", problem, "spec", "op/cuda_v", "backend", "cuda", "counts", counts,
                     "counts_reason", "not counted yet");
}

static json_t *counts_of(const json_t *row) {
    return json_object_get(row, "counts");
}

static void counts_are_repeated(void **state) {
    (void)state;
    json_t *first = row_of("one", json_pack("{s:i, s:f}", "launches", 3, "seconds", 0.5)), *further = row_of("one", json_null()),
           *other = row_of("two", json_null()), *known = json_object();
    assert_false(counted_repeat(known, further));
    counted_remember(known, other); /* it has none */
    counted_remember(known, first);
    assert_true(counted_repeat(known, further));
    assert_int_equal(json_integer_value(json_object_get(counts_of(further), "launches")), 3);
    assert_true(json_real_value(json_object_get(counts_of(further), "seconds")) == 0);
    assert_true(json_real_value(json_object_get(counts_of(first), "seconds")) == 0.5);
    assert_true(json_is_null(json_object_get(further, "counts_reason")));
    assert_false(counted_repeat(known, other));
    assert_true(json_is_null(counts_of(other)));
    json_decref(first), json_decref(further), json_decref(other), json_decref(known);
}

static void each_row_may_be_counted(void **state) {
    (void)state;
    json_t *row = row_of("one", json_pack("{s:i}", "launches", 3));
    counted_remember(NULL, row);
    assert_false(counted_repeat(NULL, row));
    json_decref(row);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_repeated), cmocka_unit_test(each_row_may_be_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
