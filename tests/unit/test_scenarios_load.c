/* Every scenario that is shipped loads, is affordable, and its claims name rows that it makes. */
#include "plan/case.h"
#include "plan/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char FOLDER[] = RUNGS_SOURCE_DIR "/scenarios";

static Plan load(const char *name) {
    char path[4096];
    Plan plan = {0};
    if (scenario_path(FOLDER, name, path, sizeof path) != STATUS_OK) fail_msg("%s", status_message());
    if (plan_add_scenario(&plan, path) != STATUS_OK) fail_msg("%s", status_message());
    return plan;
}

static void all_load_together(void **state) {
    (void)state;
    char **files;
    int count;
    Plan plan = {0};
    assert_int_equal(scenario_files(FOLDER, &files, &count), STATUS_OK);
    assert_true(count >= 5);
    for (int i = 0; i < count; i++)
        if (plan_add_scenario(&plan, files[i]) != STATUS_OK) fail_msg("%s", status_message());
    assert_int_equal(plan.scenario_count, count);
    scenario_files_free(files, count);
    plan_free(&plan);
}

/* A row is told from another by its case and its variant alone: resuming and claims depend on it. Emulated runs may coincide, they
 * are the same smaller case. */
static void no_row_is_made_twice(void **state) {
    (void)state;
    static const char *const names[] = {"smoke", "edges", "accuracy", "sweeps/rolling_window", "published/rolling"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        Plan plan = load(names[k]);
        for (int i = 0; i < plan.item_count; i++)
            for (int j = 0; j < i; j++) {
                char a[CASE_TEXT_MAX], b[CASE_TEXT_MAX];
                case_format(&plan.items[i].problem, a, sizeof a);
                if (strcmp(a, case_format(&plan.items[j].problem, b, sizeof b)) != 0) continue;
                for (int v = 0; v < plan.items[i].variant_count; v++)
                    for (int u = 0; u < plan.items[j].variant_count; u++) {
                        char spec[SPEC_TEXT_MAX], other[SPEC_TEXT_MAX];
                        variant_choice_format(&plan.items[i].variants[v], spec, sizeof spec);
                        if (strcmp(spec, variant_choice_format(&plan.items[j].variants[u], other, sizeof other)) == 0)
                            fail_msg("%s: '%s' runs twice on '%s'", names[k], spec, a);
                    }
            }
        plan_free(&plan);
    }
}

static void edges_stay_affordable(void **state) {
    (void)state;
    Plan plan = load("edges");
    assert_in_range(plan.item_count, 100, 150);
    for (int i = 0; i < plan.item_count; i++) assert_in_range(params_int(&plan.items[i].problem.params, "n"), 0, 20000);
    plan_free(&plan);
}

/* The emulator is some hundred times slower than a GPU: wherever CUDA variants get a large array, a smaller one must be named. */
static void every_large_case_has_a_small_one_without_gpu(void **state) {
    (void)state;
    static const char *const names[] = {"smoke", "edges", "accuracy", "sweeps/rolling_window", "published/rolling"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        Plan plan = load(names[k]);
        for (int i = 0; i < plan.item_count; i++)
            for (int v = 0; v < plan.items[i].variant_count; v++)
                if (plan.items[i].variants[v].entry->backend == BACKEND_CUDA)
                    assert_true(params_int(&plan.items[i].emulated.params, "n") <= 50000);
        plan_free(&plan);
    }
}

static void the_published_claims_are_there(void **state) {
    (void)state;
    Plan plan = load("published/rolling");
    int speedups = 0, found = 0;
    for (int i = 0; i < plan.claim_count; i++) {
        const Claim *claim = &plan.claims[i];
        speedups += strcmp(claim->quantity, "speedup") == 0;
        if (strcmp(claim->id, "rolling-p100-naive-to-tile") != 0) continue;
        found++;
        assert_string_equal(claim->problem,
                            "rolling agg=mean n=1000000000 window=3000 incomplete=nan function=none dtype=f64 input=ramp seed=1");
        assert_string_equal(claim->variant, "rolling/cuda_thread_tile threads=64 tile=48");
        const char baseline[] = "rolling/cuda_naive threads=128"; /* a build with CUDA knows the other tunables, and adds them */
        assert_int_equal(strncmp(claim->baseline, baseline, sizeof baseline - 1), 0);
        assert_true(claim->value == 15.4);
    }
    assert_int_equal(found, 1);
    assert_int_equal(speedups, 9);
    assert_int_equal(plan.claim_count, 19);
    plan_free(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_load_together),
        cmocka_unit_test(no_row_is_made_twice),
        cmocka_unit_test(edges_stay_affordable),
        cmocka_unit_test(every_large_case_has_a_small_one_without_gpu),
        cmocka_unit_test(the_published_claims_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
