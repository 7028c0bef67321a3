/* In which order a campaign makes its items, and what it puts off. */
#include "pipeline/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char order[64]; /* the first letter of each item's op, as they are made; a blank after each turn */

/* Items of "dear" take half a second. */
static Status make(Run *run, const PlanItem *items, int count) {
    (void)run;
    for (int i = 0; i < count; i++) {
        strncat(order, items[i].problem.op, 1);
        if (strcmp(items[i].problem.op, "dear") == 0) nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    }
    strcat(order, " ");
    return STATUS_OK;
}

static void take(PlanItem *items, int count) {
    const Plan plan = {.items = items, .item_count = count};
    Run run = {.plan = &plan};
    order[0] = '\0';
    assert_int_equal(schedule_run(&run, make), STATUS_OK);
}

static PlanItem item(const char *op, RowClass row_class, int turn) {
    return (PlanItem){.problem = {.op = op}, .row_class = row_class, .rank = turn};
}

static void a_slow_op_starves_no_other_op(void **state) {
    (void)state;
    PlanItem items[] = {item("dear", CLASS_CLAIMS, 0),  item("dear", CLASS_CLAIMS, 1),  item("cheap", CLASS_CLAIMS, 0),
                        item("cheap", CLASS_CLAIMS, 1), item("cheap", CLASS_CLAIMS, 2), item("dear", CLASS_LADDERS, 0),
                        item("cheap", CLASS_LADDERS, 0)};
    take(items, 7);
    assert_string_equal(order, "d c c c d d c "); /* the second class begins anew */
}

static void items_of_a_turn_are_made_together(void **state) {
    (void)state;
    PlanItem items[] = {item("a", CLASS_CLAIMS, 0), item("a", CLASS_CLAIMS, 0), item("a", CLASS_CLAIMS, 0),
                        item("a", CLASS_CLAIMS, 4), item("b", CLASS_CLAIMS, 2), item("b", CLASS_CLAIMS, 3)};
    take(items, 6);
    assert_true(strcmp(order, "aaa b a b ") == 0 || strcmp(order, "aaa b b a ") == 0);
}

static void an_op_may_have_a_class_for_itself(void **state) {
    (void)state;
    PlanItem items[] = {item("a", CLASS_CLAIMS, 0), item("a", CLASS_CLAIMS, 0),  item("b", CLASS_CLAIMS, 0),
                        item("b", CLASS_CLAIMS, 0), item("a", CLASS_LADDERS, 0), item("a", CLASS_LADDERS, 0)};
    take(items, 6);
    assert_string_equal(order, "aa bb aa ");
}

static void without_classes_the_order_is_the_plans(void **state) {
    (void)state;
    PlanItem items[] = {item("a", CLASS_NONE, 0), item("b", CLASS_NONE, 0), item("a", CLASS_NONE, 0)};
    take(items, 3);
    assert_string_equal(order, "a b a ");
}

static void a_dear_row_is_put_off(void **state) {
    (void)state;
    Later later = {0};
    const PlanItem staged = item("a", CLASS_CLAIMS, 0), plain = item("a", CLASS_NONE, 0);
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
    char path[] = "/tmp/rungs-test-schedule-XXXXXX";
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
        cmocka_unit_test(a_slow_op_starves_no_other_op),
        cmocka_unit_test(items_of_a_turn_are_made_together),
        cmocka_unit_test(an_op_may_have_a_class_for_itself),
        cmocka_unit_test(without_classes_the_order_is_the_plans),
        cmocka_unit_test(a_dear_row_is_put_off),
        cmocka_unit_test(what_rows_took_is_read_from_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
