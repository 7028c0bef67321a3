/* Shards of a plan: together they are the plan, each can be judged by itself, and they take about the same time. */
/* needs: double rolling */
#include "base/places.h"
#include "plan/case.h"
#include "scenario_support.h"

static Plan load(const char *path) {
    Plan plan = {0};
    const bool named = strchr(path, '/') == NULL;
    if ((named ? plan_add_named(&plan, places_project("scenarios"), path) : plan_add_scenario(&plan, path)) != STATUS_OK)
        fail_msg("%s", status_message());
    return plan;
}

static Plan shard_of(const char *path, int index, int count) {
    Plan plan = load(path);
    if (plan_shard(&plan, index, count) != STATUS_OK) fail_msg("%s", status_message());
    return plan;
}

static int rows_with(const Plan *plan, const char *problem) {
    char text[CASE_TEXT_MAX];
    int rows = 0;
    for (int i = 0; i < plan->item_count; i++)
        if (strcmp(case_format(&plan->items[i].problem, text, sizeof text), problem) == 0) rows += plan->items[i].variant_count;
    return rows;
}

static int claims_with(const Plan *plan, const char *id) {
    int claims = 0;
    for (int c = 0; c < plan->claim_count; c++) claims += strcmp(plan->claims[c].id, id) == 0;
    return claims;
}

/* Every case and every claim is in one shard, a case with all its rows; the rows of a claim are where it is. */
static void check_shards(const char *path, int count) {
    char text[CASE_TEXT_MAX];
    Plan whole = load(path), parts[16];
    int items = 0, claims = 0;
    for (int s = 0; s < count; s++) {
        parts[s] = shard_of(path, s + 1, count);
        assert_true(parts[s].item_count > 0);
        items += parts[s].item_count, claims += parts[s].claim_count;
    }
    assert_int_equal(items, whole.item_count);
    assert_int_equal(claims, whole.claim_count);
    for (int i = 0; i < whole.item_count; i++) {
        int holders = 0;
        case_format(&whole.items[i].problem, text, sizeof text);
        for (int s = 0; s < count; s++) {
            const int rows = rows_with(&parts[s], text);
            holders += rows > 0;
            assert_true(rows == 0 || rows == rows_with(&whole, text));
        }
        assert_int_equal(holders, 1);
    }
    for (int c = 0; c < whole.claim_count; c++)
        for (int s = 0; s < count; s++) {
            const Claim *claim = &whole.claims[c];
            if (claims_with(&parts[s], claim->id) == 0 || !claim->problem) continue;
            const char *other = claim->baseline_problem ? claim->baseline_problem : claim->problem;
            assert_int_equal(rows_with(&parts[s], claim->problem), rows_with(&whole, claim->problem));
            assert_int_equal(rows_with(&parts[s], other), rows_with(&whole, other));
        }
    for (int s = 0; s < count; s++) plan_free(&parts[s]);
    plan_free(&whole);
}

static void shards_are_the_plan(void **state) {
    (void)state;
    char good[256];
    snprintf(good, sizeof good, "%s", file("good.yaml", GOOD));
    for (int count = 1; count <= 4; count++) check_shards(good, count);
    snprintf(good, sizeof good, "%s",
             file("idle.yaml", HEAD "    axes: {n: [1, 2, 3]}\n    variants: [cpu_loop]\n    not_run: \"8 s a call\"\n"));
    check_shards(good, 3);
    check_shards("published", 3);
    check_shards("published", 8);
}

/* What a claim compares across cases is one group. */
static void a_baseline_of_another_case_comes_along(void **state) {
    (void)state;
    static const char CLAIM[] =
        "claims:\n"
        "  - {id: c, statement: s, source: s, hardware: h, method: m, program: ours, quantity: speedup, rule: at_least,\n"
        "     value: 1, reason: r, case: n=2, variant: cpu_loop, mode: cold, baseline: cpu_loop, baseline_case: n=4}\n";
    char text[2000], path[256];
    snprintf(text, sizeof text, HEAD "    axes: {n: [1, 2, 3, 4]}\n    variants: [cpu_loop]\n%s", CLAIM);
    snprintf(path, sizeof path, "%s", file("claim.yaml", text));
    check_shards(path, 3);
    Plan plan = load(path);
    assert_int_equal(plan_shard(&plan, 1, 4), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "3 groups"));
    assert_int_equal(plan.item_count, 4);
    plan_free(&plan);
}

/* No shard has more than its part of the time and the dearest case. */
static void shards_take_the_same_time(void **state) {
    (void)state;
    static const char DEAR[] = HEAD "    axes: {n: [1e9, 1e8, 2e8, 3e8, 4e8, 10, 11, 12]}\n    variants: [cpu_loop]\n";
    char path[256];
    snprintf(path, sizeof path, "%s", file("dear.yaml", DEAR));
    Plan first = shard_of(path, 1, 2), second = shard_of(path, 2, 2);
    const double a = plan_seconds(&first), b = plan_seconds(&second);
    assert_true(fabs(a - b) < 0.1 * (a + b)); /* 1e9 and the rest; every other case in each would be 17:3 */
    plan_free(&first);
    plan_free(&second);
}

static void only_shards_that_exist(void **state) {
    (void)state;
    static const int WRONG[][2] = {{0, 3}, {4, 3}, {-1, 3}, {1, 0}, {1, -2}};
    char path[256];
    snprintf(path, sizeof path, "%s", file("good.yaml", GOOD));
    Plan plan = load(path);
    const int items = plan.item_count;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        assert_int_equal(plan_shard(&plan, WRONG[i][0], WRONG[i][1]), STATUS_INVALID);
    assert_int_equal(plan.item_count, items);
    plan_free(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_the_plan),
        cmocka_unit_test(a_baseline_of_another_case_comes_along),
        cmocka_unit_test(shards_take_the_same_time),
        cmocka_unit_test(only_shards_that_exist),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
