/* Which variants a plan has: patterns, tunables, filters, cases by hand; and the listings of what there is. */
/* needs: rolling double */
#include "plan/case.h"
#include "plan/registry.h"
#include "plan/scenario.h"
#include "scenario_support.h"

static void patterns_can_be_taken_away_again(void **state) {
    (void)state;
    Plan plan = {0};
    if (plan_add_scenario(&plan, file("less.yaml", HEAD "    variants: ['*', -cpu_l*, cpu_loop, -cuda_*]\n")) != STATUS_OK)
        fail_msg("%s", status_message());
    assert_int_equal(plan.items[0].variant_count, 1);
    assert_string_equal(plan.items[0].variants[0].entry->id, "double/cpu_loop");
    assert_int_equal(plan_add_scenario(&plan, file("none.yaml", HEAD "    variants: [cpu_loop, -cpu_*]\n")), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "none.yaml:3:5: variants: no variant is left"));
    plan_free(&plan);
}

static void filter(void **state) {
    (void)state;
    Plan plan = {0};
    assert_int_equal(plan_add_scenario(&plan, file("good.yaml", GOOD)), STATUS_OK);
    assert_int_equal(plan_filter(&plan, "cpu_*,gpu_x"), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "'gpu_x' matches no variant of this plan (there are: double/cpu_loop)"));
    assert_int_equal(plan_filter(&plan, ""), STATUS_INVALID);
    assert_int_equal(plan_filter(&plan, " double/cpu_*, cpu_loop"), STATUS_OK);
    assert_int_equal(plan.item_count, 10);
    plan_free(&plan);
}

static void a_case_by_hand(void **state) {
    (void)state;
    Plan plan = {0};
    assert_int_equal(plan_add_case(&plan, "double n=5", NULL), STATUS_OK);
    assert_int_equal(plan.item_count, 1);
    assert_true(plan.items[0].variant_count >= 1);
    assert_null(plan.items[0].scenario);
    assert_null(plan.items[0].baseline);
    assert_false(plan.items[0].declared_bounds);
    assert_int_equal(plan.items[0].modes, (1u << MODE_COUNT) - 1);
    assert_int_equal(plan_add_case(&plan, "double n=5", "cpu_loop"), STATUS_OK);
    assert_int_equal(plan.items[1].variant_count, 1);
    assert_int_equal(plan_add_case(&plan, "double n=5", "cpu_looop"), STATUS_INVALID);
    assert_int_equal(plan_add_case(&plan, "double n=x", NULL), STATUS_INVALID);
    assert_int_equal(plan.item_count, 2);
    plan_free(&plan);
}

/* The tile kernels are the ones with two tunables. */
static void tunables_make_combinations(void **state) {
    (void)state;
    const Op *rolling = registry_op("rolling");
    const VariantEntry *tile;
    if (!rolling || registry_require_variant("rolling/cuda_thread_tile", &tile) != STATUS_OK) skip();
    static const char *const expected[] = {
        "rolling/cuda_thread_tile threads=64 tile=47", "rolling/cuda_thread_tile threads=128 tile=47",
        "rolling/cuda_thread_tile threads=64 tile=48", "rolling/cuda_thread_tile threads=128 tile=48"};
    VariantChoice *choices;
    int count;
    char text[SPEC_TEXT_MAX];
    assert_int_equal(variant_choices_parse(rolling, "cuda_thread_tile tile=47,48 threads=64,128", &choices, &count), STATUS_OK);
    assert_int_equal(count, 4);
    for (int i = 0; i < count; i++) assert_string_equal(variant_choice_format(&choices[i], text, sizeof text), expected[i]);
    free(choices);
    assert_int_equal(variant_choices_parse(rolling, "rolling/cuda_thread_tile", &choices, &count), STATUS_OK);
    assert_string_equal(variant_choice_format(&choices[0], text, sizeof text), "rolling/cuda_thread_tile threads=64 tile=48");
    free(choices);
    static const char *const bad[][2] = {
        {"cuda_thread_tile tile=47,,48", "column 18: rolling/cuda_thread_tile: tile=''"},
        {"cuda_thread_tile tile=", "column 18: rolling/cuda_thread_tile: tile=''"},
        {"cuda_thread_tile tile=0", "column 18: rolling/cuda_thread_tile: tile=0 is out of range"},
        {"cuda_thread_tile tile=1 tile=2", "column 25: 'tile' is given twice"},
        {"cuda_thread_tile tiles=1", "column 18: rolling/cuda_thread_tile: unknown parameter 'tiles'; did you mean 'tile'?"},
        {"", "column 1: a variant is expected"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(variant_choices_parse(rolling, bad[i][0], &choices, &count), STATUS_INVALID);
        if (strncmp(status_message(), bad[i][1], strlen(bad[i][1])) != 0) fail_msg("'%s': %s", bad[i][0], status_message());
        assert_null(choices);
    }
}

static void listings_have_what_the_registry_has(void **state) {
    (void)state;
    assert_int_equal(modules_need_one(NULL), STATUS_OK);
    json_t *variants = list_variants_json(), *ops = list_ops_json();
    int variant_count, op_count;
    (void)registry_variants(&variant_count);
    (void)registry_ops(&op_count);
    assert_int_equal(json_array_size(variants), variant_count);
    assert_int_equal(json_array_size(ops), op_count);
    size_t i;
    json_t *item;
    json_array_foreach(variants, i, item) {
        const VariantEntry *entry;
        assert_int_equal(registry_require_variant(json_string_value(json_object_get(item, "id")), &entry), STATUS_OK);
        assert_non_null(entry);
        assert_string_equal(json_string_value(json_object_get(item, "summary")), entry->variant->summary);
        assert_true(json_is_array(json_object_get(item, "tunables")));
    }
    json_array_foreach(ops, i, item) {
        if (strcmp(json_string_value(json_object_get(item, "name")), "double") != 0) continue;
        const json_t *n = json_array_get(json_object_get(item, "params"), 0),
                     *x = json_array_get(json_object_get(item, "inputs"), 0);
        assert_int_equal(json_integer_value(json_object_get(n, "default")), 1000003);
        assert_int_equal(json_integer_value(json_object_get(n, "max")), 1000000000000);
        assert_string_equal(json_string_value(json_object_get(x, "name")), "x");
        assert_int_equal(json_array_size(json_object_get(x, "dtypes")), 4);
    }
    json_decref(variants);
    json_decref(ops);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_can_be_taken_away_again),
        cmocka_unit_test(filter),
        cmocka_unit_test(a_case_by_hand),
        cmocka_unit_test(tunables_make_combinations),
        cmocka_unit_test(listings_have_what_the_registry_has),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
