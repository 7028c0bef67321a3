/* needs: rolling double */
#include "plan/case.h"
#include "plan/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char SUITE[] = "title: tunables\n"
                            "suites:\n"
                            "  - op: rolling\n"
                            "    axes: {n: [7, 9]}\n"
                            "    variants: ['cpu_apply tile=1,2,4', cpu_naive, cpu_online]\n";

static void add_suite(Plan *plan) {
    char path[] = "/tmp/rungs_filter_XXXXXX.yaml";
    const int file = mkstemps(path, 5);
    assert_true(file >= 0);
    assert_int_equal(write(file, SUITE, sizeof SUITE - 1), sizeof SUITE - 1);
    assert_int_equal(close(file), 0);
    const Status status = plan_add_scenario(plan, path);
    assert_int_equal(unlink(path), 0);
    if (status != STATUS_OK) fail_msg("%s", status_message());
}

/* "cpu_apply tile=1; cpu_naive": what is left of every item of the plan. */
static void expect_left(const Plan *plan, const char *list, const char *expected) {
    for (int i = 0; i < plan->item_count; i++) {
        char left[4 * SPEC_TEXT_MAX] = "", spec[SPEC_TEXT_MAX];
        for (int v = 0; v < plan->items[i].variant_count; v++) {
            variant_choice_format(&plan->items[i].variants[v], spec, sizeof spec);
            snprintf(left + strlen(left), sizeof left - strlen(left), "%s%s", v ? "; " : "", strchr(spec, '/') + 1);
        }
        if (strcmp(left, expected) != 0) fail_msg("'%s' leaves '%s', not '%s'", list, left, expected);
    }
}

static void tunables_choose_among_those_of_a_scenario_or_are_set(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"cpu_apply", "cpu_apply tile=1; cpu_apply tile=2; cpu_apply tile=4"},
        {"cpu_apply tile=2", "cpu_apply tile=2"},
        {" rolling/cpu_apply \t tile=2 ,", "cpu_apply tile=2"},
        {"cpu_a*  tile=1e0,cpu_naive", "cpu_apply tile=1; cpu_naive"},
        {"cpu_apply tile=8", "cpu_apply tile=8"}, /* none agrees: it is set, once */
        {"cpu_apply tile=4,cpu_apply tile=1", "cpu_apply tile=1; cpu_apply tile=4"},
        {"cpu_apply tile=16,cpu_apply tile=8,cpu_apply tile=2", "cpu_apply tile=16; cpu_apply tile=8; cpu_apply tile=2"},
        {"cpu_apply tile=2,cpu_apply", "cpu_apply tile=1; cpu_apply tile=2; cpu_apply tile=4"},
        {"cpu_online,cpu_*y tile=2,cpu_on*", "cpu_apply tile=2; cpu_online"},
        {"cpu_*,-cpu_apply", "cpu_naive; cpu_online"},
        {"-rolling/cpu_apply", "cpu_naive; cpu_online"}, /* of everything */
        {" -cpu_naive , -cpu_apply", "cpu_online"},
        {"cpu_apply tile=8, cpu_naive,-cpu_a*", "cpu_naive"},
        {"cpu_*,-cpu_apply,cpu_apply tile=2", "cpu_apply tile=2; cpu_naive; cpu_online"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Plan plan = {0};
        add_suite(&plan);
        if (plan_filter(&plan, cases[i][0]) != STATUS_OK) fail_msg("'%s': %s", cases[i][0], status_message());
        assert_int_equal(plan.item_count, 2);
        expect_left(&plan, cases[i][0], cases[i][1]);
        plan_free(&plan);
    }
}

static void a_case_by_hand_takes_tunables(void **state) {
    (void)state;
    Plan plan = {0};
    assert_int_equal(plan_add_case(&plan, "double n=5", NULL), STATUS_OK);
    assert_int_equal(plan_add_case(&plan, "rolling n=5", NULL), STATUS_OK);
    if (plan_filter(&plan, "cpu_apply tile=5,rolling/cpu_naive") != STATUS_OK) fail_msg("%s", status_message());
    assert_int_equal(plan.item_count, 1); /* nothing of double is left */
    expect_left(&plan, "cpu_apply tile=5,rolling/cpu_naive", "cpu_apply tile=5; cpu_naive");
    plan_free(&plan);
}

static void errors_name_the_place_and_what_is_near(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"", "the list of variants is empty"},
        {" , \t,", "the list of variants is empty"},
        {"cpu_aply", "'cpu_aply' matches no variant of this plan (there are: rolling/cpu_apply, rolling/cpu_naive, "},
        {"cpu_naive,cpu_apply tiles=2", "column 21: rolling/cpu_apply: unknown parameter 'tiles'; did you mean 'tile'?"},
        {"cpu_*,-cpu_aply", "'cpu_aply' matches no variant of this plan (there are: "},
        {"cpu_*,-cpu_apply tile=2", "'-cpu_apply' removes whole variants; it cannot have tunables"},
        {"-", "column 1: a variant is expected"},
        {"cpu_apply tile=0", "column 11: rolling/cpu_apply: tile=0 is out of range"},
        {"cpu_apply tile=", "column 11: rolling/cpu_apply: tile=''"},
        {"cpu_* tile=2", "column 7: rolling/cpu_naive: "}, /* it has no tunables */
        {"cpu_apply tile=1 tile=2", "column 18: 'tile' is given twice"},
        {"cpu_apply cpu_naive", "column 11: 'cpu_naive' is not allowed here; name=value"},
        {"cpu_apply tile=1,2", "'2' matches no variant of this plan; a comma begins the next pattern: for two values write "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Plan plan = {0};
        add_suite(&plan);
        assert_int_equal(plan_filter(&plan, bad[i][0]), STATUS_INVALID);
        if (strncmp(status_message(), bad[i][1], strlen(bad[i][1])) != 0) fail_msg("'%s': %s", bad[i][0], status_message());
        plan_free(&plan);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tunables_choose_among_those_of_a_scenario_or_are_set),
        cmocka_unit_test(a_case_by_hand_takes_tunables),
        cmocka_unit_test(errors_name_the_place_and_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
