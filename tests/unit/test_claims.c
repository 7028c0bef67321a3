#include "plan/claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define CASE_LINE "rolling agg=mean n=1000 dtype=f64 input=ramp seed=1"
#define FAST "rolling/cuda_thread_tile threads=64 tile=48"
#define SLOW "rolling/cuda_naive threads=128"

static const Claim SPEEDUP = {.id = "naive-to-tile",
                              .statement = "s",
                              .source = "s",
                              .hardware = "h",
                              .method = "m",
                              .scenario = "published/rolling",
                              .value = 15.4,
                              .quantity = "speedup",
                              .problem = CASE_LINE,
                              .variant = FAST,
                              .baseline = SLOW,
                              .mode = "cold",
                              .at_least = 11.5,
                              .at_most = 20,
                              .rule = "within 25% or so"};

/* One row; median <= 0: not timed. */
static void add_row(json_t *rows, const char *run, const char *spec, const char *verdict, double median, double low, double high) {
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "kind", "row", "run", run, "scenario", "published/rolling",
                            "case", CASE_LINE, "spec", spec, "backend", "cuda", "verdict", verdict, "reason", "as the test says");
    if (median > 0)
        json_object_set_new(row, "timing", json_pack("{s:{s:f, s:f, s:f}}", "cold", "median", median, "low", low, "high", high));
    else
        json_object_set_new(row, "timing", json_null());
    json_array_append_new(rows, row);
}

static void expect(const Claim *claim, json_t *rows, const char *verdict, const char *reason) {
    json_t *judged = claim_judge(claim, rows);
    const char *why = json_string_value(json_object_get(judged, "reason"));
    assert_string_equal(json_string_value(json_object_get(judged, "kind")), "claim");
    assert_string_equal(json_string_value(json_object_get(judged, "id")), claim->id);
    assert_string_equal(json_string_value(json_object_get(judged, "verdict")), verdict);
    if (!strstr(why, reason)) fail_msg("reason '%s' lacks '%s'", why, reason);
    const bool testable = strcmp(verdict, "not testable here") != 0;
    assert_int_equal(json_is_real(json_object_get(judged, "ours")), testable);
    if (!testable) assert_true(json_is_null(json_object_get(judged, "ours_interval")));
    json_decref(judged);
}

static double ours(const Claim *claim, json_t *rows) {
    json_t *judged = claim_judge(claim, rows);
    const double value = json_real_value(json_object_get(judged, "ours"));
    json_decref(judged);
    return value;
}

static void speedup_and_its_interval(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 6.0, 5.0, 8.0);
    add_row(rows, "a", FAST, "pass", 0.5, 0.25, 1.0);
    json_t *judged = claim_judge(&SPEEDUP, rows);
    assert_string_equal(json_string_value(json_object_get(judged, "verdict")), "reproduced");
    assert_true(json_real_value(json_object_get(judged, "ours")) == 12.0);
    const json_t *interval = json_object_get(judged, "ours_interval");
    assert_true(json_real_value(json_array_get(interval, 0)) == 5.0);  /* 5 / 1 */
    assert_true(json_real_value(json_array_get(interval, 1)) == 32.0); /* 8 / 0.25 */
    json_decref(judged);
    json_decref(rows);
}

static void the_ends_of_the_range_belong_to_it(void **state) {
    (void)state;
    static const struct {
        double slow;
        const char *verdict, *reason;
    } cases[] = {{11.5, "reproduced", "inside"},
                 {20, "reproduced", "inside"},
                 {11.4999, "not reproduced", "below"},
                 {20.0001, "not reproduced", "above"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *rows = json_array();
        add_row(rows, "a", SLOW, "pass", cases[i].slow, cases[i].slow, cases[i].slow);
        add_row(rows, "a", FAST, "pass", 1, 1, 1);
        expect(&SPEEDUP, rows, cases[i].verdict, cases[i].reason);
        json_decref(rows);
    }
}

static void seconds_are_the_median(void **state) {
    (void)state;
    Claim claim = SPEEDUP;
    claim.quantity = "seconds";
    claim.baseline = NULL;
    claim.at_least = -INFINITY;
    claim.at_most = 1.1231;
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 0.27, 0.26, 0.28);
    expect(&claim, rows, "reproduced", "0.27");
    claim.at_most = 0.2;
    expect(&claim, rows, "not reproduced", "above");
    json_t *text = claim_to_json(&claim);
    assert_true(json_is_null(json_object_get(text, "at_least")));
    assert_true(json_is_null(json_object_get(text, "baseline")));
    assert_string_equal(json_string_value(json_object_get(text, "case")), CASE_LINE);
    json_decref(text);
    json_decref(rows);
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

static void a_passing_row_without_this_mode_is_no_time(void **state) {
    (void)state;
    Claim claim = SPEEDUP;
    claim.mode = "graph";
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 15, 15, 15);
    add_row(rows, "a", FAST, "pass", 1, 1, 1);
    json_t *timing = json_object_get(json_array_get(rows, 1), "timing");
    json_object_set_new(timing, "graph", json_pack("{s:n, s:s}", "median", "why_none", "it cannot be captured"));
    expect(&claim, rows, "not testable here", FAST " has no graph time: it cannot be captured");
    json_decref(rows);
}

static void emulated_rows_never_count(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 15, 15, 15);
    add_row(rows, "a", FAST, "pass", 1, 1, 1);
    json_t *row = json_array_get(rows, 1);
    json_object_set_new(row, "backend", json_string("emulator"));
    expect(&SPEEDUP, rows, "not testable here", FAST " was emulated, not timed");
    json_object_set_new(row, "case",
                        json_string("rolling agg=mean n=20 dtype=f64 input=ramp seed=1")); /* what without_gpu made of it */
    expect(&SPEEDUP, rows, "not testable here", FAST " was emulated, not timed");
    json_decref(rows);
}

static void the_latest_run_is_preferred_and_runs_are_not_mixed(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "old", SLOW, "pass", 15, 15, 15);
    add_row(rows, "old", FAST, "pass", 1, 1, 1);
    add_row(rows, "new", SLOW, "pass", 12, 12, 12);
    assert_true(ours(&SPEEDUP, rows) == 15); /* the new run has not come to the other one */
    add_row(rows, "new", FAST, "pass", 2, 2, 2);
    assert_true(ours(&SPEEDUP, rows) == 6);
    json_decref(rows);
}

static void a_resumed_run_counts_as_one_on_the_same_machine_only(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "first", SLOW, "pass", 15, 15, 15);
    add_row(rows, "second", FAST, "pass", 1, 1, 1);
    assert_true(ours(&SPEEDUP, rows) == 15);
    json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "kind", "environment", "run", "first", "id", "machine 1"));
    json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "kind", "environment", "run", "second", "id", "machine 2"));
    expect(&SPEEDUP, rows, "not testable here", "different environments");
    json_object_set_new(json_array_get(rows, 3), "id", json_string("machine 1"));
    assert_true(ours(&SPEEDUP, rows) == 15);
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
    json_decref(judged);
    json_decref(rows);
}

static void the_baseline_may_be_of_another_case_and_mode(void **state) {
    (void)state;
    Claim claim = SPEEDUP;
    claim.variant = claim.baseline = FAST;
    claim.baseline_problem = "rolling agg=mean n=2000 dtype=f64 input=ramp seed=1";
    claim.baseline_mode = "hot";
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 0.5, 0.25, 1.0);
    expect(&claim, rows, "not testable here", "no row of '" FAST "' on 'rolling agg=mean n=2000");
    add_row(rows, "a", FAST, "pass", 99, 99, 99);
    json_t *other = json_array_get(rows, 1);
    json_object_set_new(other, "case", json_string(claim.baseline_problem));
    expect(&claim, rows, "not testable here", FAST " has no hot time");
    json_object_set_new(json_object_get(other, "timing"), "hot",
                        json_pack("{s:f, s:f, s:f}", "median", 6.0, "low", 5.0, "high", 8.0));
    assert_true(ours(&claim, rows) == 12.0);
    json_decref(rows);
}

static void errors_are_read_from_rows_that_failed_too(void **state) {
    (void)state;
    Claim claim = SPEEDUP;
    claim.quantity = "error";
    claim.baseline = claim.mode = NULL;
    claim.output = "y";
    claim.at_least = -INFINITY;
    claim.at_most = 2.8e-4;
    json_t *rows = json_array();
    expect(&claim, rows, "not testable here", "no row of '" FAST "'");
    add_row(rows, "a", FAST, "fail", 0, 0, 0);
    json_t *row = json_array_get(rows, 0);
    expect(&claim, rows, "not testable here", FAST " has no finite error of 'y': as the test says");
    json_object_set_new(row, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", 1e-4));
    expect(&claim, rows, "reproduced", "ours 0.0001 is inside");
    claim.at_most = 9.9e-5;
    expect(&claim, rows, "not reproduced", "above");
    json_object_set_new(row, "backend", json_string("emulator"));
    expect(&claim, rows, "not testable here", "was emulated");
    json_decref(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speedup_and_its_interval),
        cmocka_unit_test(the_ends_of_the_range_belong_to_it),
        cmocka_unit_test(seconds_are_the_median),
        cmocka_unit_test(what_cannot_be_judged_says_why),
        cmocka_unit_test(a_passing_row_without_this_mode_is_no_time),
        cmocka_unit_test(emulated_rows_never_count),
        cmocka_unit_test(the_latest_run_is_preferred_and_runs_are_not_mixed),
        cmocka_unit_test(a_resumed_run_counts_as_one_on_the_same_machine_only),
        cmocka_unit_test(missing_intervals_leave_the_value),
        cmocka_unit_test(the_baseline_may_be_of_another_case_and_mode),
        cmocka_unit_test(errors_are_read_from_rows_that_failed_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
