/* How a claim is judged: by its rule, the median of the processes and their range. */
#include "claims_support.h"

static const json_t *member(const json_t *judged, const char *key) {
    return json_object_get(judged, key);
}

static void median_and_range_are_over_processes(void **state) {
    (void)state;
    const double slow[] = {6.5, 6.75, 8.0, 6.6, 7.0}, fast[] = {0.5, 0.4375, 0.5, 0.45, 0.5, 0.5};
    json_t *rows = json_array();
    for (int i = 0; i < 5; i++) add_row(rows, "a", SLOW, "pass", slow[i]);
    for (int i = 0; i < 6; i++) add_row(rows, "b", FAST, "pass", fast[i]);
    json_t *judged = claim_judge(&SPEEDUP, rows);
    assert_string_equal(json_string_value(member(judged, "outcome")), "holds");
    assert_string_equal(json_string_value(member(judged, "run")), "b");
    assert_true(json_real_value(member(judged, "here")) == 6.75 / 0.5);
    assert_true(json_real_value(member(judged, "low")) == 6.5 / 0.5);
    assert_true(json_real_value(member(judged, "high")) == 8.0 / 0.4375);
    assert_int_equal(json_integer_value(member(judged, "processes")), 5);
    assert_true(json_is_false(member(judged, "provisional")));
    assert_string_equal(json_string_value(member(judged, "unit")), "x");
    json_decref(judged);
    json_array_remove(rows, 4); /* four processes of one side */
    judged = claim_judge(&SPEEDUP, rows);
    assert_int_equal(json_integer_value(member(judged, "processes")), 4);
    assert_true(json_is_true(member(judged, "provisional")));
    assert_true(json_real_value(member(judged, "here")) == 6.675 / 0.5); /* between the two in the middle */
    json_decref(judged);
    json_decref(rows);
}

static void one_process_has_no_interval_and_is_provisional(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 15);
    add_row(rows, "a", FAST, "pass", 1);
    json_t *judged = claim_judge(&SPEEDUP, rows);
    assert_true(json_real_value(member(judged, "here")) == 15);
    assert_true(json_is_null(member(judged, "low")) && json_is_null(member(judged, "high")));
    assert_true(json_is_true(member(judged, "provisional")));
    json_decref(judged);
    json_decref(rows);
}

/* Ours, the rule, and the outcome as a speed-up and as seconds: the ends belong to the band. */
static void each_rule_has_its_outcomes(void **state) {
    (void)state;
    static const struct {
        const char *rule;
        double low, high; /* the band */
        double here;
        const char *speedup, *seconds;
    } cases[] = {
        {"about", 8, 12.5, 10, "holds", "holds"},
        {"about", 8, 12.5, 8, "holds", "holds"},
        {"about", 8, 12.5, 12.5, "holds", "holds"},
        {"about", 8, 12.5, 12.501, "direction", "fails"},
        {"about", 8, 12.5, 50, "direction", "fails"}, /* five times the published 10, and beyond */
        {"about", 8, 12.5, 50.1, "far", "fails"},
        {"about", 8, 12.5, 508, "far", "fails"},
        {"about", 8, 12.5, 2, "direction", "direction"},
        {"about", 8, 12.5, 1.99, "far", "far"},
        {"about", 8, 12.5, 7.999, "direction", "direction"},
        {"about", 8, 12.5, 1.001, "far", "far"},
        {"about", 8, 12.5, 1, "fails", "far"},
        {"about", 8, 12.5, 0.5, "fails", "far"},
        {"about", 0.4, 0.6, 0.9, "direction", "fails"}, /* a published slow-down */
        {"about", 0.4, 0.6, 1.1, "fails", "fails"},
        {"range", 15, 25, 20, "holds", "holds"},
        {"range", 15, 25, 26, "direction", "fails"},
        {"range", 15, 25, 125, "direction", "fails"}, /* of the nearer end */
        {"range", 15, 25, 126, "far", "fails"},
        {"range", 15, 25, 14, "direction", "direction"},
        {"range", 15, 25, 2.9, "far", "far"},
        {"range", 15, 25, 0.9, "fails", "far"},
        {"range", 0.719, 1.39, 0.435, "fails", "direction"}, /* on both sides of 1: there is no direction */
        {"range", 0.719, 1.39, 2, "fails", "fails"},
        {"range", 0.5, 0.8, 0.4, "direction", "direction"},
        {"at_least", 10, INFINITY, 508, "holds", "holds"},
        {"at_least", 10, INFINITY, 10, "holds", "holds"},
        {"at_least", 10, INFINITY, 9.9, "direction", "direction"},
        {"at_least", 1, INFINITY, 0.99, "fails", "direction"}, /* "faster" has no size */
        {"at_most", -INFINITY, 1.35, 1.1, "holds", "holds"},
        {"at_most", -INFINITY, 1.35, 1.36, "direction", "fails"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Claim ratio = limited("speedup", cases[i].rule, cases[i].low, cases[i].high);
        Claim time = limited("seconds", cases[i].rule, cases[i].low, cases[i].high);
        if (strcmp(cases[i].rule, "about") == 0) ratio.value = time.value = sqrt(cases[i].low * cases[i].high);
        json_t *rows = json_array();
        add_row(rows, "a", SLOW, "pass", cases[i].here);
        add_row(rows, "a", FAST, "pass", 1);
        expect(&ratio, rows, cases[i].speedup, " here, ");
        json_array_clear(rows);
        add_row(rows, "a", FAST, "pass", cases[i].here);
        expect(&time, rows, cases[i].seconds, " here, ");
        json_decref(rows);
    }
}

/* A law or an equality is kept or broken: published 1.41x, here 1.5x, 38x, 0.2x. */
static void a_law_has_no_other_size(void **state) {
    (void)state;
    Claim law = limited("speedup", "about", 1.06, 1.88);
    law.value = 1.41, law.law = true;
    static const struct {
        double here;
        const char *outcome, *why;
    } cases[] = {{1.5, "holds", "1.5x here, expected"},
                 {38, "fails", "a law or an equality has no other size"},
                 {0.2, "fails", "no other size"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *rows = json_array();
        add_row(rows, "a", SLOW, "pass", cases[i].here);
        add_row(rows, "a", FAST, "pass", 1);
        expect(&law, rows, cases[i].outcome, cases[i].why);
        json_decref(rows);
    }
}

static void processes_on_both_sides_of_a_limit_are_provisional(void **state) {
    (void)state;
    static const struct {
        double first;
        bool close;
    } cases[] = {{9, false}, {7.9, true}, {8, false}, {12.5, false}, {12.6, true}};
    const Claim claim = limited("speedup", "about", 8, 12.5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *rows = json_array();
        add_row(rows, "a", SLOW, "pass", cases[i].first);
        for (int k = 0; k < 4; k++) add_row(rows, "a", SLOW, "pass", 10);
        for (int k = 0; k < 5; k++) add_row(rows, "a", FAST, "pass", 1);
        json_t *judged = claim_judge(&claim, rows);
        assert_string_equal(json_string_value(member(judged, "outcome")), "holds");
        assert_int_equal(json_is_true(member(judged, "provisional")), cases[i].close);
        assert_int_equal(strstr(json_string_value(member(judged, "why")), "disagree") != NULL, cases[i].close);
        json_decref(judged);
        json_decref(rows);
    }
}

static void numbers_of_other_hardware_are_shown_unless_ours_are_worse(void **state) {
    (void)state;
    static const struct {
        const char *quantity;
        double published, seconds;
        const char *outcome, *why;
    } cases[] = {
        {"seconds", 3.9, 1.5, "not_testable", "1.5 s here; a number of other hardware"},
        {"seconds", 3.9, 3.9, "not_testable", "shown, not judged"},
        {"seconds", 3.9, 6.84, "fails", "6.84 s here, slower than the 3.9 s published"},
        {"bytes_per_second", 320e9, 1e-9, "not_testable", "1000 GB/s here"},
        {"bytes_per_second", 320e9, 1e-8, "fails", "100 GB/s here, slower than the 320 GB/s"},
        {"elements_per_second", 6e8, 1e-7, "not_testable", "1000 M elements/s here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Claim claim = limited(cases[i].quantity, "shown", -INFINITY, INFINITY);
        claim.value = cases[i].published;
        claim.reason = NULL;
        json_t *rows = json_array();
        add_row(rows, "a", FAST, "pass", cases[i].seconds);
        set(rows, 0, "work", json_pack("{s:f, s:f}", "bytes", 1000.0, "elements", 100.0));
        expect(&claim, rows, cases[i].outcome, cases[i].why);
        json_t *judged = claim_judge(&claim, rows);
        assert_string_equal(json_string_value(member(judged, "claim_kind")), "statement");
        assert_true(json_is_null(member(judged, "band_low")) && json_is_null(member(judged, "band_high")));
        json_decref(judged);
        json_decref(rows);
    }
}

static void a_rate_has_the_range_of_its_time(void **state) {
    (void)state;
    const Claim rate = limited("bytes_per_second", "at_least", 400, INFINITY);
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 2);
    add_row(rows, "a", FAST, "pass", 4);
    expect(&rate, rows, "not_testable", "its row has no work");
    for (size_t i = 0; i < 2; i++) set(rows, i, "work", json_pack("{s:f}", "bytes", 1200.0));
    expect(&rate, rows, "holds", "");
    json_t *judged = claim_judge(&rate, rows);
    assert_true(json_real_value(member(judged, "here")) == 400 && json_real_value(member(judged, "low")) == 300);
    assert_true(json_real_value(member(judged, "high")) == 600);
    json_decref(judged);
    json_decref(rows);
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
                 {limited("bytes_per_second", "range", 320e9, 340e9), "320 GB/s to 340 GB/s"},
                 {limited("launches", "range", 4, 8), "4 to 8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *text = claim_to_json(&cases[i].claim);
        assert_string_equal(json_string_value(member(text, "expected")), cases[i].words);
        assert_string_equal(json_string_value(member(text, "case")), CASE_LINE);
        assert_int_equal(json_is_null(member(text, "band_low")), isinf(cases[i].claim.low) != 0);
        assert_int_equal(json_is_array(member(text, "published")), isnan(cases[i].claim.value) != 0);
        json_decref(text);
    }
    Claim exact = limited("launches", "about", 31, 31);
    exact.value = 31, exact.factor = 1;
    json_t *text = claim_to_json(&exact);
    assert_string_equal(json_string_value(member(text, "expected")), "31");
    json_decref(text);
}

static void what_has_no_number_says_why(void **state) {
    (void)state;
    json_t *rows = json_array();
    Claim marked = SPEEDUP,
          untestable = {.id = "u", .program = "original", .kind = "statement", .untestable = "its data were never published"};
    marked.not_run = "40 s a call";
    expect(&SPEEDUP, rows, "not_run", "no row of '" FAST "' on '" CASE_LINE "'");
    expect(&marked, rows, "not_run", "40 s a call");
    expect(&untestable, rows, "not_testable", "never published");
    add_row(rows, "a", FAST, "pass", 1);
    expect(&SPEEDUP, rows, "not_run", "no row of '" SLOW "'");
    add_row(rows, "a", SLOW, "skip", 0);
    set(rows, 1, "reason", json_string("not run: 40 s a call"));
    expect(&SPEEDUP, rows, "not_run", SLOW ": 40 s a call");
    add_row(rows, "a", SLOW, "skip", 0);
    expect(&SPEEDUP, rows, "not_testable", SLOW ": skip: as the test says");
    add_row(rows, "a", SLOW, "fail", 0); /* a wrong baseline is not the claim's fault */
    expect(&SPEEDUP, rows, "not_testable", SLOW ": fail: as the test says");
    add_row(rows, "a", SLOW, "pass", 15); /* by hand, though the scenario leaves it out */
    expect(&marked, rows, "holds", "15x here");
    add_row(rows, "b", FAST, "error", 0);
    expect(&SPEEDUP, rows, "not_testable", FAST ": error");
    add_row(rows, "b", FAST, "fail", 0);
    expect(&SPEEDUP, rows, "fails", FAST ": fail: as the test says");
    json_decref(rows);
}

static void counts_are_exact_and_may_be_missing(void **state) {
    (void)state;
    Claim launches = limited("launches", "about", 4, 4), bytes = limited("bytes_over_minimum", "about", 1.4, 2.1875);
    launches.factor = 1;
    launches.mode = bytes.mode = NULL;
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 1);
    set(rows, 0, "work", json_pack("{s:f}", "bytes", 1000.0));
    set(rows, 0, "counts", json_null());
    set(rows, 0, "counts_reason", json_string("no permission"));
    expect(&launches, rows, "not_testable", FAST " has no launches: no permission");
    expect(&bytes, rows, "not_testable", FAST " has no bytes_over_minimum: no permission");
    set(rows, 0, "counts", json_pack("{s:i, s:i, s:n}", "launches", 4, "bytes_read", 700, "bytes_written"));
    expect(&launches, rows, "holds", "4 here, expected 4");
    expect(&bytes, rows, "not_testable", "no permission");
    json_t *judged = claim_judge(&launches, rows);
    assert_true(json_is_false(member(judged, "provisional")) && json_is_null(member(judged, "low")));
    json_decref(judged);
    Claim memory = limited("peak_bytes", "at_most", -INFINITY, 400000);
    memory.mode = NULL;
    expect(&memory, rows, "not_testable", FAST " has no peak_bytes");
    const int peaks[] = {400000, 400004};
    for (size_t i = 0; i < 2; i++) {
        set(rows, 0, "counts", json_pack("{s:i, s:i}", "launches", 4, "peak_bytes", peaks[i]));
        expect(&memory, rows, i ? "fails" : "holds", i ? "400004 B here" : "400000 B here, expected at most 400000 B");
    }
    set(rows, 0, "counts", json_pack("{s:i, s:i, s:i}", "launches", 5, "bytes_read", 700, "bytes_written", 1050));
    expect(&launches, rows, "fails", "5 here");
    expect(&bytes, rows, "holds", "1.75x here");
    set(rows, 0, "counts", json_pack("{s:i, s:i, s:i}", "launches", 3, "bytes_read", 500, "bytes_written", 500));
    expect(&launches, rows, "fails", "3 here"); /* fewer is another number, not more of the same */
    expect(&bytes, rows, "fails", "1x here");
    add_row(rows, "b", FAST, "pass", 1); /* a later row that was not counted */
    set(rows, 1, "counts", json_null());
    expect(&launches, rows, "fails", "3 here");
    set(rows, 0, "work", json_pack("{s:f}", "bytes", 0.0));
    expect(&bytes, rows, "not_testable", "has no bytes_over_minimum");
    json_decref(rows);
}

/* About 1e-4, in y. */
static Claim of_an_error(void) {
    Claim claim = limited("error", "about", 0.8e-4, 1.25e-4);
    claim.mode = NULL;
    claim.output = "y";
    return claim;
}

static void set_error(json_t *rows, size_t row, double error) {
    set(rows, row, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", error));
}

static void errors_are_read_from_rows_that_failed_too(void **state) {
    (void)state;
    const Claim claim = of_an_error();
    json_t *rows = json_array();
    expect(&claim, rows, "not_run", "no row of '" FAST "'");
    add_row(rows, "a", FAST, "fail", 0);
    expect(&claim, rows, "fails", FAST " has no finite error of 'y': as the test says");
    set_error(rows, 0, 1e-4);
    expect(&claim, rows, "holds", "0.0001 here");
    set_error(rows, 0, 1e-3);
    expect(&claim, rows, "fails", "0.001 here");
    set_error(rows, 0, 1e-5);
    expect(&claim, rows, "fails", "1e-05 here"); /* a smaller error is another number, not more of the same */
    json_decref(rows);
}

static void errors_are_read_from_emulated_rows_of_the_same_case(void **state) {
    (void)state;
    const Claim claim = of_an_error();
    json_t *rows = json_array();
    for (int i = 0; i < 2; i++) { /* one that passed, one outside its bound */
        add_row(rows, "a", FAST, i == 0 ? "pass" : "fail", 0);
        set_error(rows, (size_t)i, i == 0 ? 1e-4 : 1e-3);
        set(rows, (size_t)i, "backend", json_string("emulator"));
        expect(&claim, rows, i == 0 ? "holds" : "fails", i == 0 ? "0.0001 here (in the emulator)" : "0.001 here (in the emulator)");
    }
    json_object_set_new(json_array_get(rows, 1), "case", json_string("double n=7 dtype=f64 input=uniform seed=1"));
    expect(&claim, rows, "holds", "0.0001 here"); /* a smaller case stands in for none */
    json_array_remove(rows, 0);
    json_object_set_new(json_array_get(rows, 0), "scenario", json_string(claim.scenario));
    expect(&claim, rows, "not_testable", "was emulated");
    json_decref(rows);
}

static void errors_are_compared_as_ratios(void **state) {
    (void)state;
    Claim claim = limited("error_ratio", "at_least", 2, INFINITY);
    claim.baseline = SLOW;
    claim.mode = NULL;
    claim.output = "y";
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 0);
    set(rows, 0, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", 1e-4));
    expect(&claim, rows, "not_run", "no row of '" SLOW "'");
    add_row(rows, "a", SLOW, "fail", 0);
    const double errors[] = {2e-4, 1.5e-4, 0.5e-4};
    const char *const outcomes[] = {"holds", "direction", "fails"};
    for (size_t i = 0; i < 3; i++) {
        set(rows, 1, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", errors[i]));
        expect(&claim, rows, outcomes[i], "x here");
    }
    set(rows, 0, "errors", json_pack("{s:{s:f}}", "y", "max_absolute", 0.0));
    expect(&claim, rows, "not_testable", "no finite number");
    json_decref(rows);
}

static void totals_are_of_statements_by_all_programs_but_ours(void **state) {
    (void)state;
    static const struct {
        const char *kind, *program, *rule, *outcome;
        bool number;
    } lines[] = {
        {"statement", "original", "about", "holds", true},
        {"statement", "reimplementation", "about", "holds", true},
        {"statement", "original", "at_least", "direction", true},
        {"statement", "successor", "about", "far", true},
        {"statement", "original", "about", "fails", false},
        {"statement", "original", NULL, "not_testable", false},
        {"statement", "reimplementation", "shown", "not_run", false},
        {"statement", "ours", "about", "holds", true},
        {"finding", "original", "about", "fails", true},
        {"finding", "ours", "shown", "fails", true},
        {"statement", "original", "shown", "not_testable", true},
        {"statement", "original", "shown", "fails", true},
    };
    ClaimTotals totals = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        json_t *line = json_pack("{s:s, s:s, s:s?, s:s, s:o}", "claim_kind", lines[i].kind, "program", lines[i].program, "rule",
                                 lines[i].rule, "outcome", lines[i].outcome, "here", lines[i].number ? json_real(1) : json_null());
        claim_count(line, &totals);
        json_decref(line);
    }
    const size_t outcomes[CLAIM_OUTCOME_COUNT] = {2, 1, 1, 1, 1, 1};
    assert_memory_equal(totals.outcomes, outcomes, sizeof outcomes);
    assert_int_equal(totals.shown, 2);
    assert_int_equal(totals.shown_worse, 1);
    assert_int_equal(totals.findings, 2);
    assert_int_equal(totals.ours, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_and_range_are_over_processes),
        cmocka_unit_test(one_process_has_no_interval_and_is_provisional),
        cmocka_unit_test(each_rule_has_its_outcomes),
        cmocka_unit_test(a_law_has_no_other_size),
        cmocka_unit_test(processes_on_both_sides_of_a_limit_are_provisional),
        cmocka_unit_test(numbers_of_other_hardware_are_shown_unless_ours_are_worse),
        cmocka_unit_test(a_rate_has_the_range_of_its_time),
        cmocka_unit_test(what_is_expected_is_said_in_words),
        cmocka_unit_test(what_has_no_number_says_why),
        cmocka_unit_test(counts_are_exact_and_may_be_missing),
        cmocka_unit_test(errors_are_read_from_rows_that_failed_too),
        cmocka_unit_test(errors_are_read_from_emulated_rows_of_the_same_case),
        cmocka_unit_test(errors_are_compared_as_ratios),
        cmocka_unit_test(totals_are_of_statements_by_all_programs_but_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
