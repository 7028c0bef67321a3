/* Which rows a claim is judged by. */
/* needs: rolling */
#include "claims_support.h"

static void a_passing_row_without_this_mode_is_no_time(void **state) {
    (void)state;
    Claim claim = SPEEDUP;
    claim.mode = "graph";
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 15);
    add_row(rows, "a", FAST, "pass", 1);
    json_t *timing = json_object_get(json_array_get(rows, 1), "timing");
    json_object_set_new(timing, "graph", json_pack("{s:n, s:s}", "median", "why_none", "it cannot be captured"));
    expect(&claim, rows, "not_testable", FAST " has no graph time: it cannot be captured");
    json_decref(rows);
}

static void emulated_rows_never_count(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "a", SLOW, "pass", 15);
    add_row(rows, "a", FAST, "pass", 1);
    json_t *row = json_array_get(rows, 1);
    json_object_set_new(row, "backend", json_string("emulator"));
    expect(&SPEEDUP, rows, "not_testable", FAST " was emulated, not timed");
    json_object_set_new(row, "case",
                        json_string("rolling agg=mean n=20 dtype=f64 input=ramp seed=1")); /* what without_gpu made of it */
    expect(&SPEEDUP, rows, "not_testable", FAST " was emulated, not timed");
    json_decref(rows);
}

static void a_timed_row_beats_emulated_and_untimed_ones_wherever_they_stand(void **state) {
    (void)state;
    const Claim time = limited("seconds", "at_most", -INFINITY, 1.5);
    for (int at = 0; at < 3; at++) { /* where the timed row stands */
        json_t *rows = json_array();
        for (int i = 0; i < 3; i++) add_row(rows, i == at ? "real" : "other", FAST, "pass", i == at ? 1 : 0);
        set(rows, (size_t)(at + 1) % 3, "backend", json_string("emulator"));
        set(rows, (size_t)(at + 2) % 3, "why_not_timed", json_string("verify only"));
        expect(&time, rows, "holds", "1 s here");
        assert_true(here(&time, rows) == 1);
        add_row(rows, "a", SLOW, "pass", 15);
        assert_true(here(&SPEEDUP, rows) == 15);
        json_decref(rows);
    }
    json_t *rows = json_array(); /* a whole emulated run after a timed one */
    const char *const runs[] = {"real", "emulated"};
    for (int i = 0; i < 2; i++) {
        add_row(rows, runs[i], SLOW, "pass", i == 0 ? 15 : 0);
        add_row(rows, runs[i], FAST, "pass", i == 0 ? 1 : 0);
    }
    set(rows, 2, "backend", json_string("emulator"));
    set(rows, 3, "backend", json_string("emulator"));
    expect(&SPEEDUP, rows, "holds", "15x here");
    add_row(rows, "later", FAST, "fail", 0); /* but what ran in earnest and was wrong is the latest word */
    add_row(rows, "later", SLOW, "pass", 15);
    expect(&SPEEDUP, rows, "fails", FAST ": fail");
    json_decref(rows);
}

static void cases_are_compared_as_cases(void **state) {
    (void)state;
    const Claim time = limited("seconds", "at_most", -INFINITY, 1.5);
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 1);
    set(rows, 0, "case", json_string("rolling n=1e3 agg=mean")); /* as a row from before a parameter was added might say */
    Claim claim = time;
    char again[CASE_TEXT_MAX];
    Case problem;
    assert_int_equal(case_parse("rolling n=1e3 agg=mean", &problem), STATUS_OK);
    claim.problem = case_format(&problem, again, sizeof again);
    expect(&claim, rows, "holds", "1 s here");
    set(rows, 0, "case", json_string("rolling n=1e3 agg=sum"));
    expect(&claim, rows, "not_run", "no row of");
    set(rows, 0, "case", json_string("rolling of something"));
    expect(&claim, rows, "not_run", "no row of");
    json_decref(rows);
}

static void runs_of_one_environment_are_processes_of_one_sample(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_environment(rows, "old", "one build");
    add_environment(rows, "new", "one build");
    add_environment(rows, "newest", "another");
    add_row(rows, "old", SLOW, "pass", 15);
    add_row(rows, "old", FAST, "pass", 1);
    add_row(rows, "new", SLOW, "pass", 13);
    add_row(rows, "new", FAST, "pass", 1);
    assert_true(here(&SPEEDUP, rows) == 14);
    add_row(rows, "newest", SLOW, "pass", 12);
    assert_true(here(&SPEEDUP, rows) == 14); /* the newest environment has not come to the other one */
    add_row(rows, "newest", FAST, "pass", 2);
    assert_true(here(&SPEEDUP, rows) == 6); /* environments are not mixed */
    json_decref(rows);
}

static void a_resumed_run_counts_as_one_on_the_same_machine_only(void **state) {
    (void)state;
    json_t *rows = json_array();
    add_row(rows, "first", SLOW, "pass", 15);
    add_row(rows, "second", FAST, "pass", 1);
    assert_true(here(&SPEEDUP, rows) == 15);
    add_environment(rows, "first", "machine 1");
    add_environment(rows, "second", "machine 2");
    expect(&SPEEDUP, rows, "not_testable", "different environments");
    json_object_set_new(json_array_get(rows, 3), "id", json_string("machine 1"));
    assert_true(here(&SPEEDUP, rows) == 15);
    json_decref(rows);
}

static void the_baseline_may_be_of_another_case_and_mode(void **state) {
    (void)state;
    Claim claim = SPEEDUP;
    claim.variant = claim.baseline = FAST;
    claim.baseline_problem = "rolling agg=mean n=2000 dtype=f64 input=ramp seed=1";
    claim.baseline_mode = "hot";
    json_t *rows = json_array();
    add_row(rows, "a", FAST, "pass", 0.5);
    expect(&claim, rows, "not_run", "no row of '" FAST "' on 'rolling agg=mean n=2000");
    add_row(rows, "a", FAST, "pass", 99);
    json_t *other = json_array_get(rows, 1);
    json_object_set_new(other, "case", json_string(claim.baseline_problem));
    expect(&claim, rows, "not_testable", FAST " has no hot time");
    json_object_set_new(json_object_get(other, "timing"), "hot",
                        json_pack("{s:f, s:f, s:f}", "median", 6.0, "low", 5.0, "high", 8.0));
    assert_true(here(&claim, rows) == 12.0);
    json_decref(rows);
}

/* One build on two cards: processes of the other card are neither pooled nor compared with. */
static void cards_are_kept_apart(void **state) {
    (void)state;
    json_t *rows = json_array();
    const char *const runs[] = {"first", "again", "other"}, *const cards[] = {"card-1", "card-1", "card-2"};
    for (size_t i = 0; i < 3; i++) {
        add_environment(rows, runs[i], "one build");
        set(rows, i, "gpu", json_pack("{s:s}", "uuid", cards[i]));
    }
    add_row(rows, "first", SLOW, "pass", 15);
    add_row(rows, "first", FAST, "pass", 1);
    add_row(rows, "again", FAST, "pass", 1.5);
    add_row(rows, "other", FAST, "pass", 0.5); /* the latest, without a baseline on its card */
    assert_true(here(&SPEEDUP, rows) == 15 / 1.25);
    add_row(rows, "other", SLOW, "pass", 8);
    assert_true(here(&SPEEDUP, rows) == 8 / 0.5);
    json_decref(rows);
    rows = json_array();
    for (size_t i = 0; i < 3; i++) {
        add_environment(rows, runs[i], "one build");
        set(rows, i, "gpu", json_pack("{s:s}", "uuid", cards[i]));
    }
    add_row(rows, "first", SLOW, "pass", 15);
    add_row(rows, "other", FAST, "pass", 1);
    expect(&SPEEDUP, rows, "not_testable", "in different environments or on different cards only");
    json_decref(rows);
}

/* An environment, then one slow row and two fast ones. */
static json_t *rows_of_one_card(void) {
    json_t *rows = json_array();
    add_environment(rows, "run", "one build");
    add_row(rows, "run", SLOW, "pass", 15);
    add_row(rows, "run", FAST, "pass", 1);
    add_row(rows, "run", FAST, "pass", 0.5);
    for (size_t i = 1; i < 4; i++) set(rows, i, "gpu", json_pack("{s:i, s:s}", "index", 0, "uuid", "card-1"));
    return rows;
}

/* Of a run on several GPUs a row says which; what ran on none goes with any. */
static void gpus_of_a_run_are_kept_apart(void **state) {
    (void)state;
    json_t *rows = rows_of_one_card();
    assert_true(here(&SPEEDUP, rows) == 15 / 0.75);
    set(rows, 3, "gpu", json_pack("{s:i, s:s}", "index", 1, "uuid", "card-2"));
    assert_true(here(&SPEEDUP, rows) == 15);
    set(rows, 2, "gpu", json_pack("{s:i, s:s}", "index", 1, "uuid", "card-2"));
    expect(&SPEEDUP, rows, "not_testable", "on different cards only");
    set(rows, 1, "gpu", json_null());
    assert_true(here(&SPEEDUP, rows) == 15 / 0.75);
    json_decref(rows);
}

/* Under a bound of its own a row counts if another case of the variant tells what it does not, also on another GPU of the run. */
static void another_gpu_tells_the_definition(void **state) {
    (void)state;
    json_t *rows = rows_of_one_card();
    for (size_t i = 2; i < 4; i++) set(rows, i, "bound", json_pack("{s:b}", "declared", 1));
    set(rows, 2, "does_not_tell", json_pack("[s]", "window+1"));
    set(rows, 3, "case", json_string("rolling agg=mean n=20 dtype=f64 input=ramp seed=1"));
    expect(&SPEEDUP, rows, "not_testable", "its bound does not tell window+1");
    set(rows, 3, "tells", json_pack("[s]", "window+1"));
    assert_true(here(&SPEEDUP, rows) == 15);
    set(rows, 3, "gpu", json_pack("{s:i, s:s}", "index", 1, "uuid", "card-2"));
    assert_true(here(&SPEEDUP, rows) == 15);
    json_decref(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cards_are_kept_apart),
        cmocka_unit_test(gpus_of_a_run_are_kept_apart),
        cmocka_unit_test(another_gpu_tells_the_definition),
        cmocka_unit_test(a_passing_row_without_this_mode_is_no_time),
        cmocka_unit_test(emulated_rows_never_count),
        cmocka_unit_test(a_timed_row_beats_emulated_and_untimed_ones_wherever_they_stand),
        cmocka_unit_test(cases_are_compared_as_cases),
        cmocka_unit_test(runs_of_one_environment_are_processes_of_one_sample),
        cmocka_unit_test(a_resumed_run_counts_as_one_on_the_same_machine_only),
        cmocka_unit_test(the_baseline_may_be_of_another_case_and_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
