/* Scenario files: what they expand to, their claims, their names. */
/* needs: double */
#include "plan/case.h"
#include "plan/scenario.h"
#include "scenario_support.h"

static void expansion_follows_the_file(void **state) {
    (void)state;
    static const char *const expected[] = {
        "double n=1000 dtype=f64 input=uniform seed=1", "double n=2048 dtype=f64 input=uniform seed=2",
        "double n=1000 dtype=f64 input=naninf seed=1",  "double n=2048 dtype=f64 input=naninf seed=2",
        "double n=1000 dtype=f32 input=uniform seed=1", "double n=2048 dtype=f32 input=uniform seed=2",
        "double n=1000 dtype=f32 input=naninf seed=1",  "double n=2048 dtype=f32 input=naninf seed=2",
        "double n=7 dtype=f64 input=uniform seed=1",    "double n=7 dtype=f64 input=naninf seed=1",
    };
    Plan plan = {0};
    char text[CASE_TEXT_MAX];
    if (plan_add_scenario(&plan, file("good.yaml", GOOD)) != STATUS_OK) fail_msg("%s", status_message());
    assert_int_equal(plan.item_count, 10);
    for (int i = 0; i < plan.item_count; i++) {
        const PlanItem *item = &plan.items[i];
        assert_string_equal(case_format(&item->problem, text, sizeof text), expected[i]);
        assert_int_equal(item->variant_count, 1);
        assert_string_equal(variant_choice_format(&item->variants[0], text, sizeof text), "double/cpu_loop");
        assert_int_equal(params_int(&plan_item_case(item, true)->params, "n"), i < 8 ? 50 : 7);
        assert_string_equal(plan_item_case(item, true)->input, item->problem.input);
        assert_int_equal(item->modes, i < 8 ? 1u << MODE_COLD | 1u << MODE_FIRST : (1u << MODE_COUNT) - 1);
        assert_int_equal(item->declared_bounds, i < 8);
        if (i < 8)
            assert_string_equal(item->baseline, "double/cpu_loop");
        else
            assert_null(item->baseline);
        assert_string_equal(item->scenario, "good");
    }
    assert_int_equal(plan.scenario_count, 1);
    assert_string_equal(plan.scenarios[0].title, "two suites");
    assert_string_equal(plan.scenarios[0].about, "for people\n");
    plan_free(&plan);
    assert_null(plan.items);
}

static void claims_are_canonical(void **state) {
    (void)state;
    Plan plan = {0};
    assert_int_equal(plan_add_scenario(&plan, file("good.yaml", GOOD)), STATUS_OK);
    assert_int_equal(plan.claim_count, 1);
    const Claim *claim = &plan.claims[0];
    assert_string_equal(claim->problem, "double n=1000 dtype=f32 input=uniform seed=1");
    assert_string_equal(claim->variant, "double/cpu_loop");
    assert_string_equal(claim->scenario, "good");
    assert_string_equal(claim->note, "n");
    assert_null(claim->baseline);
    assert_string_equal(claim->rule, "about");
    assert_string_equal(claim->reason, "w");
    assert_true(claim->value == 15.4 && claim->factor == 2 && claim->low == 7.7 && claim->high == 30.8);
    plan_free(&plan);
}

static void claims_may_compare_two_cases_and_modes_or_state_an_error(void **state) {
    (void)state;
    static const char text[] =
        "title: t\nsuites:\n  - op: double\n    axes: {n: [10, 20]}\n    variants: [cpu_loop]\n    modes: [hot, first]\n"
        "claims:\n  - {id: c, statement: s, source: s, hardware: h, method: m, program: ours, rule: at_least, value: 1, quantity: "
        "speedup,\n"
        "     case: n=10, variant: cpu_loop, mode: first, baseline: cpu_loop, baseline_case: n=20,\n"
        "     baseline_mode: hot, reason: r}\n"
        "  - {id: e, statement: s, source: s, hardware: h, method: m, program: ours, rule: range, low: 1, high: 2, quantity: "
        "error,\n"
        "     case: n=10, variant: cpu_loop, reason: r}\n"
        "  - {id: l, statement: s, source: s, hardware: h, method: m, program: ours, rule: at_most, value: 4, quantity: launches,\n"
        "     case: n=10, variant: cpu_loop, reason: r}\n"
        "  - {id: b, statement: s, source: s, hardware: h, method: m, program: ours, rule: about, value: 1.75, factor: 1,\n"
        "     quantity: bytes_over_minimum, case: n=10, variant: cpu_loop, reason: r}\n";
    Plan plan = {0};
    if (plan_add_scenario(&plan, file("two.yaml", text)) != STATUS_OK) fail_msg("%s", status_message());
    assert_string_equal(plan.claims[0].problem, "double n=10 dtype=f64 input=uniform seed=1");
    assert_string_equal(plan.claims[0].baseline_problem, "double n=20 dtype=f64 input=uniform seed=1");
    assert_string_equal(plan.claims[0].mode, "first");
    assert_string_equal(plan.claims[0].baseline_mode, "hot");
    assert_null(plan.claims[0].output);
    assert_string_equal(plan.claims[1].output, "y");
    assert_null(plan.claims[1].mode);
    const double limits[][3] = {{1, 1, INFINITY}, {NAN, 1, 2}, {4, -INFINITY, 4}, {1.75, 1.75, 1.75}};
    assert_int_equal(plan.claim_count, 4);
    for (int i = 0; i < 4; i++) {
        const Claim *claim = &plan.claims[i];
        assert_true(claim->value == limits[i][0] || (isnan(claim->value) && isnan(limits[i][0])));
        assert_true(claim->low == limits[i][1] && claim->high == limits[i][2]);
        assert_int_equal(isnan(claim->factor) != 0, i < 3);
    }
    plan_free(&plan);
}

static void what_is_not_run_or_cannot_be_tested(void **state) {
    (void)state;
    static const char text[] =
        "title: t\nsuites:\n  - {op: double, axes: {n: [10]}, variants: [cpu_loop], modes: [hot]}\n"
        "  - {op: double, axes: {n: [10, 20]}, variants: [cpu_loop], modes: [cold], not_run: an hour a call}\n"
        "claims:\n  - {id: a, statement: s, source: s, hardware: h, method: m, program: original, kind: finding, quantity: "
        "seconds,\n"
        "     rule: shown, value: 1, case: n=10, variant: cpu_loop, mode: hot}\n"
        "  - {id: b, statement: s, source: s, hardware: h, method: m, program: reimplementation, quantity: elements_per_second,\n"
        "     rule: at_least, value: 1, reason: r, case: n=20, variant: cpu_loop, mode: cold}\n"
        "  - {id: c, statement: s, source: s, hardware: h, method: m, program: original, untestable: its data are gone}\n"
        "  - {id: d, statement: s, source: s, hardware: h, method: m, program: original, quantity: error, rule: at_most, value: "
        "1,\n"
        "     reason: r, case: n=10, variant: cpu_loop}\n";
    Plan plan = {0};
    if (plan_add_scenario(&plan, file("marks.yaml", text)) != STATUS_OK) fail_msg("%s", status_message());
    assert_null(plan.items[0].not_run);
    assert_string_equal(plan.items[2].not_run, "an hour a call");
    const Claim *claims = plan.claims;
    assert_string_equal(claims[0].kind, "finding");
    assert_string_equal(claims[0].program, "original");
    assert_true(claims[0].value == 1 && isinf(claims[0].low) && isinf(claims[0].high) && !claims[0].reason && !claims[0].not_run);
    assert_string_equal(claims[1].kind, "statement");
    assert_string_equal(claims[1].not_run, "an hour a call");
    assert_string_equal(claims[2].untestable, "its data are gone");
    assert_string_equal(claims[2].op, "double");
    assert_null(claims[2].variant);
    assert_null(claims[3].not_run); /* one suite runs the case */
    plan_free(&plan);
}

static void a_bad_file_leaves_the_plan_as_it_was(void **state) {
    (void)state;
    Plan plan = {0};
    assert_int_equal(plan_add_scenario(&plan, file("good.yaml", GOOD)), STATUS_OK);
    char again[sizeof GOOD + 8];
    snprintf(again, sizeof again, "%s", GOOD);
    assert_int_equal(plan_add_scenario(&plan, file("twin.yaml", again)), STATUS_INVALID); /* its claim has an id that is taken */
    assert_non_null(strstr(status_message(), "id 'c1' is given twice, first in good"));
    assert_int_equal(plan.item_count, 10);
    assert_int_equal(plan.claim_count, 1);
    assert_int_equal(plan_add_scenario(&plan, file("more.yaml", SUITE)), STATUS_OK);
    assert_int_equal(plan.item_count, 11);
    assert_string_equal(plan.items[10].scenario, "more");
    plan_free(&plan);
}

static void files_that_cannot_be_read(void **state) {
    (void)state;
    Plan plan = {0};
    assert_int_equal(plan_add_scenario(&plan, "/nonexistent/x.yaml"), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "/nonexistent/x.yaml"));
    assert_int_equal(plan_add_scenario(&plan, folder), STATUS_INVALID);
    assert_non_null(strstr(status_message(), folder));
    plan_free(&plan);
}

static void too_much_is_refused_before_memory_is_taken(void **state) {
    (void)state;
    char text[8192];
    Plan plan = {0};
    int used = snprintf(text, sizeof text, SUITE "    axes:\n");
    for (int axis = 0; axis < 2; axis++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "      %s: [", axis ? "seed" : "n");
        for (int i = 0; i < 200; i++) used += snprintf(text + used, sizeof text - (size_t)used, "%d, ", i);
        used += snprintf(text + used, sizeof text - (size_t)used, "1000]\n");
    }
    assert_int_equal(plan_add_scenario(&plan, file("huge.yaml", text)), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "more than 20000 cases"));
    plan_free(&plan);
}

static void names_come_from_the_path_below_scenarios(void **state) {
    (void)state;
    char path[256], found[256];
    snprintf(path, sizeof path, "%s/scenarios", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/scenarios/published", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    file("scenarios/published/one.yaml", GOOD);
    file("scenarios/two.yaml", SUITE);
    Plan plan = {0};
    snprintf(path, sizeof path, "%s/scenarios", folder);
    assert_int_equal(scenario_path(path, "published/one", found, sizeof found), STATUS_OK);
    assert_int_equal(plan_add_scenario(&plan, found), STATUS_OK);
    assert_string_equal(plan.scenarios[0].name, "published/one");
    assert_string_equal(plan.items[0].scenario, "published/one");
    plan_free(&plan);
    assert_int_equal(plan_add_named(&plan, path, "published"), STATUS_OK); /* a folder is all that is in it */
    assert_int_equal(plan.scenario_count, 1);
    assert_int_equal(plan_add_named(&plan, path, "two"), STATUS_OK);
    assert_int_equal(plan.scenario_count, 2);
    plan_free(&plan);
    plan = (Plan){0};
    assert_int_equal(plan_add_named(&plan, path, "publishd"), STATUS_INVALID);
    assert_int_equal(plan_add_named(&plan, path, ""), STATUS_INVALID);
    assert_int_equal(scenario_path(path, "publishd/one", found, sizeof found), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "did you mean 'published/one'? (known: published/one, two)"));
    assert_int_equal(scenario_path(path, "published/none.yaml", found, sizeof found), STATUS_INVALID);

    json_t *list;
    assert_int_equal(list_scenarios_json(path, &list), STATUS_OK);
    assert_int_equal(json_array_size(list), 2);
    const json_t *first = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "published/one");
    assert_int_equal(json_integer_value(json_object_get(first, "cases")), 10);
    assert_int_equal(json_integer_value(json_object_get(first, "rows")), 10);
    assert_int_equal(json_integer_value(json_object_get(first, "claims")), 1);
    json_decref(list);
    assert_int_equal(list_claims_json(path, &list), STATUS_OK);
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion_follows_the_file),
        cmocka_unit_test(claims_are_canonical),
        cmocka_unit_test(claims_may_compare_two_cases_and_modes_or_state_an_error),
        cmocka_unit_test(what_is_not_run_or_cannot_be_tested),
        cmocka_unit_test(a_bad_file_leaves_the_plan_as_it_was),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(too_much_is_refused_before_memory_is_taken),
        cmocka_unit_test(names_come_from_the_path_below_scenarios),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
