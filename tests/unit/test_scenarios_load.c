/* Every scenario that is shipped loads, is affordable, and its claims name rows that it makes. */
/* needs: rolling */
#include "base/places.h"
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

static Plan load(const char *name) {
    Plan plan = {0};
    if (plan_add_named(&plan, places_project("scenarios"), name) != STATUS_OK) fail_msg("%s", status_message());
    return plan;
}

static void all_load_together(void **state) {
    (void)state;
    char **files;
    int count;
    Plan plan = {0};
    assert_int_equal(scenario_files(places_project("scenarios"), &files, &count), STATUS_OK);
    assert_true(count >= 5);
    for (int i = 0; i < count; i++)
        if (plan_add_scenario(&plan, files[i]) != STATUS_OK) fail_msg("%s", status_message());
    assert_int_equal(plan.scenario_count, count);
    scenario_files_free(files, count);
    plan_free(&plan);
}

static void check_each(void (*check)(const Plan *plan)) {
    char **files;
    int count;
    assert_int_equal(scenario_files(places_project("scenarios"), &files, &count), STATUS_OK);
    for (int k = 0; k < count; k++) {
        Plan plan = load(files[k]);
        check(&plan);
        plan_free(&plan);
    }
    scenario_files_free(files, count);
}

/* Fails if one of b's variants has the same spec as one of a's. */
static void check_variants_differ(const Plan *plan, const PlanItem *a, const PlanItem *b) {
    for (int v = 0; v < a->variant_count; v++)
        for (int u = 0; u < b->variant_count; u++) {
            char spec[SPEC_TEXT_MAX], other[SPEC_TEXT_MAX], text[CASE_TEXT_MAX];
            variant_choice_format(&a->variants[v], spec, sizeof spec);
            if (strcmp(spec, variant_choice_format(&b->variants[u], other, sizeof other)) == 0)
                fail_msg("%s: '%s' runs twice on '%s'", plan->scenarios[0].name, spec, case_format(&a->problem, text, sizeof text));
        }
}

static void check_rows_differ(const Plan *plan) {
    for (int i = 0; i < plan->item_count; i++)
        for (int j = 0; j < i; j++) {
            char a[CASE_TEXT_MAX], b[CASE_TEXT_MAX];
            case_format(&plan->items[i].problem, a, sizeof a);
            if (strcmp(a, case_format(&plan->items[j].problem, b, sizeof b)) == 0)
                check_variants_differ(plan, &plan->items[i], &plan->items[j]);
        }
}

/* A row is told from another by its case and its variant alone: resuming and claims depend on it. Emulated runs may coincide, they
 * are the same smaller case. */
static void no_row_is_made_twice(void **state) {
    (void)state;
    check_each(check_rows_differ);
}

/* Elements of the largest input of a case. */
static size_t size_of(const Case *problem) {
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS];
    const Op *op = registry_op(problem->op);
    size_t largest = 0;
    if (op->shapes(problem, in, out) != STATUS_OK) fail_msg("%s", status_message());
    for (int i = 0; i < op->in_count; i++)
        if (array_count(&in[i]) > largest) largest = array_count(&in[i]);
    return largest;
}

static void edges_stay_affordable(void **state) {
    (void)state;
    Plan plan = load("edges");
    assert_in_range(plan.item_count, 100, 1300);
    for (int i = 0; i < plan.item_count; i++) assert_in_range(size_of(&plan.items[i].problem), 0, 1000000);
    plan_free(&plan);
}

static void check_emulated_sizes(const Plan *plan) {
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++) {
            char text[CASE_TEXT_MAX];
            if (plan->items[i].gpu_only) continue; /* nothing of it runs there */
            if (plan->items[i].variants[v].entry->backend == BACKEND_CUDA &&
                size_of(plan_item_case(&plan->items[i], true)) > 1000000)
                fail_msg("%s: '%s' is too much for the emulator; say with without_gpu what runs there", plan->scenarios[0].name,
                         case_format(plan_item_case(&plan->items[i], true), text, sizeof text));
        }
}

/* The emulator is some hundred times slower than a GPU: wherever CUDA variants get a large array, a smaller one must be named. */
static void every_large_case_has_a_small_one_without_gpu(void **state) {
    (void)state;
    check_each(check_emulated_sizes);
}

enum { CELLS_MAX = 16 };

/* Splits a line of CSV in place, empty cells too. */
static int split(char *line, char *cells[CELLS_MAX]) {
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at && count < CELLS_MAX; at = strchr(at, ',')) {
        if (*at == ',') *at++ = '\0';
        cells[count++] = at;
    }
    return count;
}

/* Does an item of the plan have these sizes and run a variant whose spec begins with `name`, with this resource if one is given? */
static bool is_planned(const Plan *plan, long long rows, long long cols, const char *name, const char *memory) {
    for (int i = 0; i < plan->item_count; i++) {
        const PlanItem *item = &plan->items[i];
        if (params_int(&item->problem.params, "rows") != rows) continue;
        if (cols > 0 && params_int(&item->problem.params, "cols") != cols) continue;
        for (int v = 0; v < item->variant_count; v++) {
            char spec[SPEC_TEXT_MAX];
            const char *variant = strchr(variant_choice_format(&item->variants[v], spec, sizeof spec), '/') + 1;
            const size_t length = strlen(name);
            if (strncmp(variant, name, length) == 0 && strchr(" ", variant[length]) && (!*memory || strstr(variant, memory)))
                return true;
        }
    }
    return false;
}

/* Columns are sizes and variants (moments), or there is a column `variant` and one `memory` (redact). */
static int check_table(const char *op) {
    char path[256], line[1024], header[1024], *names[CELLS_MAX] = {0}, *cells[CELLS_MAX];
    int points = 0, columns = 0;
    snprintf(path, sizeof path, "published/%s", op);
    Plan plan = load(path);
    snprintf(path, sizeof path, "%s/published/%s.csv", places_project("scenarios"), op);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    while (fgets(line, sizeof line, stream)) {
        if (*line == '#') continue;
        if (columns == 0) {
            snprintf(header, sizeof header, "%s", line);
            columns = split(header, names);
            continue;
        }
        long long rows = 0, cols = 0;
        const char *variant = NULL, *memory = "";
        char resource[64];
        const int count = split(line, cells);
        for (int i = 0; i < count && i < columns; i++) {
            if (strcmp(names[i], "rows") == 0) rows = strtoll(cells[i], NULL, 10);
            if (strcmp(names[i], "cols") == 0) cols = strtoll(cells[i], NULL, 10);
            if (strcmp(names[i], "variant") == 0) variant = cells[i];
            if (strcmp(names[i], "memory") == 0 && *cells[i])
                snprintf(resource, sizeof resource, "memory=%s", cells[i]), memory = resource;
        }
        for (int i = 2; i < count && i < columns; i++) {
            const char *name = variant ? variant : names[i];
            if (!*cells[i] || !strchr(name, '_') || (variant && i > 2)) continue; /* a bound of the source's is no program */
            if (!is_planned(&plan, rows, cols, name, memory))
                fail_msg("%s: no case of the scenario has rows=%lld cols=%lld %s %s", path, rows, cols, name, memory);
            points++;
        }
    }
    fclose(stream);
    plan_free(&plan);
    return points;
}

static void every_point_of_a_published_table_has_a_case(void **state) {
    (void)state;
    if (!registry_has_backend(BACKEND_CUDA)) skip();
    assert_int_equal(check_table("moments"), 27 * 7);
    assert_true(check_table("redact") >= 50);
}

static void the_published_claims_are_there(void **state) {
    (void)state;
    Plan plan = load("published");
    int ops = 0, found = 0, originals = 0, successors = 0, laws = 0;
    for (int i = 0; i < plan.claim_count; i++) {
        const Claim *claim = &plan.claims[i];
        originals += strcmp(claim->program, "original") == 0;
        successors += strcmp(claim->program, "successor") == 0;
        laws += claim->law;
        if (!claim->url || strncmp(claim->url, "https://", 8) != 0 || !claim->section)
            fail_msg("%s: no URL or no section", claim->id);
        if (strcmp(claim->program, "original") == 0 && claim->variant && strstr(claim->variant, "peer_cudf"))
            fail_msg("%s: today's cuDF is a successor", claim->id);
        ops += i == 0 || strcmp(claim->op, plan.claims[i - 1].op) != 0;
        if (strcmp(claim->id, "rolling-p100-naive-to-tile") != 0) continue;
        found++;
        assert_string_equal(claim->problem,
                            "rolling agg=mean n=1000000000 window=3000 incomplete=nan function=none dtype=f64 input=ramp seed=1");
        assert_string_equal(claim->variant, "rolling/cuda_thread_tile threads=64 tile=48");
        const char baseline[] = "rolling/cuda_naive threads=128"; /* a build with CUDA knows the other tunables, and adds them */
        assert_int_equal(strncmp(claim->baseline, baseline, sizeof baseline - 1), 0);
        assert_true(claim->value == 15.4);
        assert_string_equal(claim->rule, "about"); /* a published ratio is two-sided */
    }
    assert_int_equal(found, 1);
    assert_int_equal(ops, 6);
    assert_true(plan.claim_count >= 150);
    assert_true(originals >= 20 && successors >= 10);
    assert_int_equal(laws, 6); /* four of the logarithm, one of constant time, one of equal times */
    plan_free(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_load_together),
        cmocka_unit_test(no_row_is_made_twice),
        cmocka_unit_test(edges_stay_affordable),
        cmocka_unit_test(every_large_case_has_a_small_one_without_gpu),
        cmocka_unit_test(every_point_of_a_published_table_has_a_case),
        cmocka_unit_test(the_published_claims_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
