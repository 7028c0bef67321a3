/* In which order a campaign makes its items, and what it puts off. */
#include "pipeline/later.h"
#include "pipeline/resume.h"
#include "pipeline/turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TURN_SECONDS = 15, EXPECTED_SECONDS = 10 /* more than half a turn */ };

static char order[64]; /* the first letter of each item's op, as they are made; a blank after each turn */

/* Items of "dear" take half a second, whatever was expected of them. */
static Status make(Run *run, const PlanItem *items, int count) {
    (void)run;
    for (int i = 0; i < count; i++) {
        strncat(order, items[i].problem.op, 1);
        if (strcmp(items[i].problem.op, "dear") == 0) nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    }
    strcat(order, " ");
    return STATUS_OK;
}

static void take(PlanItem *items, int count, double turn_seconds) {
    const Plan plan = {.items = items, .item_count = count, .turn_seconds = turn_seconds};
    Run run = {.plan = &plan};
    order[0] = '\0';
    assert_int_equal(turns_take(&run, make), STATUS_OK);
}

static PlanItem item(const char *op, int stage, double seconds) {
    return (PlanItem){.problem = {.op = op}, .stage = stage, .seconds = seconds};
}

static void a_wrong_estimate_starves_no_other_op(void **state) {
    (void)state;
    PlanItem items[] = {item("dear", 1, EXPECTED_SECONDS),  item("dear", 1, EXPECTED_SECONDS),  item("cheap", 1, EXPECTED_SECONDS),
                        item("cheap", 1, EXPECTED_SECONDS), item("cheap", 1, EXPECTED_SECONDS), item("dear", 2, EXPECTED_SECONDS),
                        item("cheap", 2, EXPECTED_SECONDS)};
    take(items, 7, TURN_SECONDS);
    assert_string_equal(order, "d c c c d d c "); /* the second stage begins anew */
}

static void cheap_items_share_a_turn(void **state) {
    (void)state;
    PlanItem items[] = {item("a", 1, 5), item("a", 1, 5), item("a", 1, 5), item("a", 1, 1), item("b", 1, 100), item("b", 1, 0)};
    take(items, 6, TURN_SECONDS);
    assert_true(strcmp(order, "aaa b a b ") == 0 || strcmp(order, "aaa b b a ") == 0);
}

static void an_op_may_have_a_stage_for_itself(void **state) {
    (void)state;
    PlanItem items[] = {item("a", 1, 100), item("a", 1, 100), item("b", 1, 1), item("b", 1, 100), item("a", 2, 1), item("a", 2, 1)};
    take(items, 6, INFINITY);
    assert_string_equal(order, "aa bb aa ");
}

static void without_stages_the_order_is_the_plans(void **state) {
    (void)state;
    PlanItem items[] = {item("a", 0, 0), item("b", 0, 0), item("a", 0, 0)};
    take(items, 3, TURN_SECONDS);
    assert_string_equal(order, "aba ");
}

static void a_dear_row_is_put_off(void **state) {
    (void)state;
    Later later = {0};
    const PlanItem staged = item("a", 1, 1), plain = item("a", 0, 1);
    assert_false(later_waits(&later, &staged, 0));
    assert_false(later_waits(&later, &staged, 1));
    assert_true(later_waits(&later, &staged, 60));
    assert_false(later_waits(&later, &plain, 60));
    assert_int_equal(later_add(&later, &(LaterRow){.item = &staged, .seconds = 60}), STATUS_OK);
    assert_int_equal(later_add(&later, &(LaterRow){.item = &plain, .seconds = 20}), STATUS_OK);
    later_begin(&later);
    assert_ptr_equal(later.rows[0].item, &plain);
    assert_false(later_waits(&later, &staged, 60));
    later_close(&later);
}

static void expect_answer(Resume *resume, const Row *row, ResumeAnswer expected) {
    ResumeAnswer answer;
    assert_int_equal(resume_ask(resume, row, &answer), STATUS_OK);
    assert_int_equal(answer, expected);
}

/* Rows that an earlier part of the campaign wrote count, those that ended in an error too. */
static void what_rows_took_is_read_from_the_file(void **state) {
    (void)state;
    static const char *const FORMAT = "{\"kind\":\"row\",\"schema\":1,\"run\":\"r\",\"op\":\"op\",\"variant\":\"op/"
                                      "cpu_v\",\"case\":\"%s\",\"spec\":\"op/v\",\"backend\":"
                                      "\"cpu\",\"verdict\":\"%s\",\"seconds_spent\":%d}\n";
    char path[] = "/tmp/rungs-test-turns-XXXXXX";
    Resume resume;
    FILE *stream = fdopen(mkstemp(path), "w");
    assert_non_null(stream);
    fprintf(stream, FORMAT, "one", "pass", 30);
    fprintf(stream, FORMAT, "one", "pass", 20);
    fprintf(stream, FORMAT, "two", "error", 120);
    fclose(stream);
    assert_int_equal(resume_open(path, &resume), STATUS_OK);
    Row row = {.text = "one", .spec = "op/v"};
    assert_true(resume_seconds(&resume, &row) == 30);
    strcpy(row.text, "two");
    assert_true(resume_seconds(&resume, &row) == 120);
    expect_answer(&resume, &row, RESUME_RUN); /* it ended in an error */
    strcpy(row.text, "three");
    assert_true(resume_seconds(&resume, &row) == 0);
    row.seconds_spent = 5;
    assert_int_equal(resume_took(&resume, &row), STATUS_OK);
    assert_true(resume_seconds(&resume, &row) == 5);
    strcpy(row.text, "one");
    expect_answer(&resume, &row, RESUME_DONE);
    expect_answer(&resume, &row, RESUME_DONE);
    expect_answer(&resume, &row, RESUME_RUN); /* the file has two */
    resume_close(&resume);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_estimate_starves_no_other_op),
        cmocka_unit_test(cheap_items_share_a_turn),
        cmocka_unit_test(an_op_may_have_a_stage_for_itself),
        cmocka_unit_test(without_stages_the_order_is_the_plans),
        cmocka_unit_test(a_dear_row_is_put_off),
        cmocka_unit_test(what_rows_took_is_read_from_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
