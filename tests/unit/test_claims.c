/* How a claim is judged: by its rule and the interval of what was measured. */
#include "claims_support.h"

static void set_samples(json_t *rows, size_t row, int count) {
    json_t *cold = json_object_get(json_object_get(json_array_get(rows, row), "timing"), "cold");
    json_object_set_new(cold, "count", json_integer(count));
}

static void speedup_and_its_interval(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 6.75, 6.5, 8.0);
    add_row(rows, "a", FAST, "pass", 0.5, 0.4375, 0.5);
    set_samples(rows, 0, 30);
    set_samples(rows, 1, 4);
    json_t *judged = claim_judge(&SPEEDUP, rows);
    assert_int_equal(json_integer_value(json_object_get(judged, "samples")), 4);
    assert_string_equal(json_string_value(json_object_get(judged, "verdict")), "reproduced");
    assert_string_equal(json_string_value(json_object_get(judged, "run")), "a");
    assert_true(json_real_value(json_object_get(judged, "ours")) == 13.5);
    const json_t *interval = json_object_get(judged, "ours_interval");
    assert_true(json_real_value(json_array_get(interval, 0)) == 13.0);         /* 6.5 / 0.5 */
    assert_true(json_real_value(json_array_get(interval, 1)) == 8.0 / 0.4375); /* 18.3 */
    json_decref(judged);
    json_decref(rows);
}

/* Ours with its interval, the rule, and the verdict: the ends belong to the limits. */
static void each_rule_decides_by_the_interval(void **state) {
    (void)state;
    static const struct {
        const char *rule;
        double low, high;                 /* the limits */
        double ours, ours_low, ours_high; /* what was measured */
        const char *speedup, *seconds;    /* verdicts on it as the one and as the other */
    } cases[] = {
        {"about", 8, 12.5, 10, 9, 11, "reproduced", "reproduced"},
        {"about", 8, 12.5, 10, 8, 12.5, "reproduced", "reproduced"},
        {"about", 8, 12.5, 508, 496, 529, "exceeded", "not reproduced"},
        {"about", 8, 12.5, 5, 4, 6, "not reproduced", "exceeded"},
        {"about", 8, 12.5, 9, 7.999, 10, "undecided", "undecided"},
        {"about", 8, 12.5, 12, 11, 12.501, "undecided", "undecided"},
        {"about", 8, 12.5, 10, 1, 20, "undecided", "undecided"},
        {"range", 15, 25, 20, 16, 24, "reproduced", "reproduced"},
        {"range", 15, 25, 26, 25.5, 27, "exceeded", "not reproduced"},
        {"range", 15, 25, 14, 13, 14.9, "not reproduced", "exceeded"},
        {"range", 15, 25, 25, 24, 26, "undecided", "undecided"},
        {"at_least", 10, INFINITY, 508, 496, 529, "reproduced", "reproduced"},
        {"at_least", 10, INFINITY, 10, 10, 10, "reproduced", "reproduced"},
        {"at_least", 10, INFINITY, 9.9, 9.8, 9.99, "not reproduced", "not reproduced"},
        {"at_least", 10, INFINITY, 10.5, 9.5, 12, "undecided", "undecided"},
        {"at_most", -INFINITY, 1.35, 1.1, 1.09, 1.12, "reproduced", "reproduced"},
        {"at_most", -INFINITY, 1.35, 1.4, 1.36, 1.5, "not reproduced", "not reproduced"},
        {"at_most", -INFINITY, 1.35, 1.3, 1.2, 1.36, "undecided", "undecided"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = strcmp(cases[i].speedup, "undecided") == 0 ? "a limit inside this interval" : "expected ";
        const Claim ratio = limited("speedup", cases[i].rule, cases[i].low, cases[i].high);
        const Claim time = limited("seconds", cases[i].rule, cases[i].low, cases[i].high);
        json_t *rows = json_array();
        add_row(rows, "a", SLOW, "pass", cases[i].ours, cases[i].ours_low, cases[i].ours_high);
        add_row(rows, "a", FAST, "pass", 1, 1, 1);
        expect(&ratio, rows, cases[i].speedup, why);
        json_array_clear(rows);
        add_row(rows, "a", FAST, "pass", cases[i].ours, cases[i].ours_low, cases[i].ours_high);
        expect(&time, rows, cases[i].seconds, why);
        json_decref(rows);
    }
}

static void what_is_expected_is_said_in_words(void **state) {
    (void)state;
    const struct {
        Claim claim;
        const char *words;
    } cases[] = {{SPEEDUP, "about 15.4x, within a factor of 1.25: 12.32x to 19.25x"},
                 {limited("speedup", "at_least", 30, INFINITY), "at least 30x"},
                 {limited("seconds", "at_most", -INFINITY, 0.048), "at most 0.048 s"},
                 {limited("bytes_over_minimum", "range", 1.5, 2), "1.5x to 2x"},
                 {limited("launches", "range", 4, 8), "4 to 8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *text = claim_to_json(&cases[i].claim);
        assert_string_equal(json_string_value(json_object_get(text, "expected")), cases[i].words);
        assert_string_equal(json_string_value(json_object_get(text, "case")), CASE_LINE);
        assert_int_equal(json_is_null(json_object_get(text, "low")), isinf(cases[i].claim.low) != 0);
        assert_int_equal(json_is_null(json_object_get(text, "value")), isnan(cases[i].claim.value) != 0);
        json_decref(text);
    }
    Claim exact = limited("launches", "about", 31, 31);
    exact.value = 31, exact.factor = 1;
    json_t *text = claim_to_json(&exact);
    assert_string_equal(json_string_value(json_object_get(text, "expected")), "31");
    json_decref(text);
}

static void what_cannot_be_judged_says_why(void **state) {
    (void)state;
    json_t *rows = json_array();
    expect(&SPEEDUP, rows, "not testable here", "no row of '" FAST "' on '" CASE_LINE "'");
    add_row(rows, "a", FAST, "pass", 1, 1, 1);
    expect(&SPEEDUP, rows, "not testable here", "no row of '" SLOW "'");
    add_row(rows, "a", SLOW, "skip", 0, 0, 0);
    expect(&SPEEDUP, rows, "not testable here", SLOW ": skip: as the test says");
    add_row(rows, "b", FAST, "fail", 0, 0, 0);
    add_row(rows, "b", SLOW, "pass", 15, 15, 15);
    expect(&SPEEDUP, rows, "not testable here", FAST ": fail: as the test says");
    json_decref(rows);
}

static void counts_are_exact_and_may_be_missing(void **state) {
    (void)state;
    Claim launches = limited("launches", "about", 4, 4), bytes = limited("bytes_over_minimum", "about", 1.4, 2.1875);
    launches.factor = 1;
    launches.mode = bytes.mode = NULL;
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 1, 1, 1);
    set(rows, 0, "work", json_pack("{s:f}", "bytes", 1000.0));
    set(rows, 0, "counts", json_null());
    set(rows, 0, "counts_reason", json_string("no permission"));
    expect(&launches, rows, "not testable here", FAST " has no launches: no permission");
    expect(&bytes, rows, "not testable here", FAST " has no bytes_over_minimum: no permission");
    set(rows, 0, "counts", json_pack("{s:i, s:i, s:n}", "launches", 4, "bytes_read", 700, "bytes_written"));
    expect(&launches, rows, "reproduced", "expected 4; here 4");
    expect(&bytes, rows, "not testable here", "no permission");
    set(rows, 0, "counts", json_pack("{s:i, s:i, s:i}", "launches", 5, "bytes_read", 700, "bytes_written", 1050));
    expect(&launches, rows, "not reproduced", "here 5");
    expect(&bytes, rows, "reproduced", "here 1.75");
    assert_true(ours(&bytes, rows) == 1.75);
    set(rows, 0, "counts", json_pack("{s:i, s:i, s:i}", "launches", 3, "bytes_read", 500, "bytes_written", 500));
    expect(&launches, rows, "not reproduced", "here 3"); /* fewer is another number, not more of the same */
    expect(&bytes, rows, "not reproduced", "here 1");
    add_row(rows, "b", FAST, "pass", 1, 1, 1); /* a later row that was not counted */
    set(rows, 1, "counts", json_null());
    expect(&launches, rows, "not reproduced", "here 3");
    set(rows, 0, "work", json_pack("{s:f}", "bytes", 0.0));
    expect(&bytes, rows, "not testable here", "has no bytes_over_minimum");
    json_decref(rows);
}

static void a_time_without_an_interval_decides_nothing(void **state) {
    (void)state;
    const Claim time = limited("seconds", "at_most", -INFINITY, 1.5);
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 1, 1, 1);
    expect(&time, rows, "reproduced", "here 1");
    json_t *cold = json_object_get(json_object_get(json_array_get(rows, 0), "timing"), "cold");
    json_object_set_new(cold, "count", json_integer(1));
    expect(&time, rows, "undecided", "without an interval");
    json_object_set_new(cold, "count", json_integer(9));
    expect(&time, rows, "reproduced", "here 1");
    json_object_set_new(cold, "high", json_null());
    expect(&time, rows, "undecided", "without an interval");
    json_decref(rows);
}

static void missing_intervals_leave_the_value(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 15, 15, 15);
    add_row(rows, "a", FAST, "pass", 1, 1, 1);
    json_t *cold = json_object_get(json_object_get(json_array_get(rows, 0), "timing"), "cold");
    json_object_set_new(cold, "low", json_null());
    json_t *judged = claim_judge(&SPEEDUP, rows);
    assert_true(json_real_value(json_object_get(judged, "ours")) == 15);
    assert_true(json_is_null(json_object_get(judged, "ours_interval")));
    assert_null(json_object_get(judged, "samples"));
    json_decref(judged);
    json_decref(rows);
}

static void errors_are_read_from_rows_that_failed_too(void **state) {
    (void)state;
    Claim claim = SPEEDUP;
    claim.quantity = "error";
    claim.baseline = claim.mode = NULL;
    claim.output = "y";
    claim.rule = "about";
    claim.factor = 1.25;
    claim.value = 1e-4;
    claim.low = 0.8e-4;
    claim.high = 1.25e-4;
    json_t *rows = json_array();
    expect(&claim, rows, "not testable here", "no row of '" FAST "'");
    add_row(rows, "a", FAST, "fail", 0, 0, 0);
    json_t *row = json_array_get(rows, 0);
    expect(&claim, rows, "not testable here", FAST " has no finite error of 'y': as the test says");
    json_object_set_new(row, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", 1e-4));
    expect(&claim, rows, "reproduced", "here 0.0001");
    json_object_set_new(row, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", 1e-3));
    expect(&claim, rows, "not reproduced", "here 0.001");
    json_object_set_new(row, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", 1e-5));
    expect(&claim, rows, "not reproduced", "here 1e-05"); /* a smaller error is another number, not more of the same */
    json_object_set_new(row, "backend", json_string("emulator"));
    expect(&claim, rows, "not testable here", "was emulated");
    json_decref(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speedup_and_its_interval),
        cmocka_unit_test(each_rule_decides_by_the_interval),
        cmocka_unit_test(what_is_expected_is_said_in_words),
        cmocka_unit_test(what_cannot_be_judged_says_why),
        cmocka_unit_test(counts_are_exact_and_may_be_missing),
        cmocka_unit_test(a_time_without_an_interval_decides_nothing),
        cmocka_unit_test(missing_intervals_leave_the_value),
        cmocka_unit_test(errors_are_read_from_rows_that_failed_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
