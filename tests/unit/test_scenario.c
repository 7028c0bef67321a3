#include "plan/case.h"
#include "plan/listing.h"
#include "plan/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

/* Writes the text as <folder>/<name>; returns its path. */
static const char *file(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fputs(text, stream) < 0, 0);
    assert_int_equal(fclose(stream), 0);
    return path;
}

static const char GOOD[] = "title: two suites\n"
                           "about: >\n"
                           "  for people\n"
                           "suites:\n"
                           "  - op: double\n"
                           "    axes:\n"
                           "      dtype: [f64, f32]\n"
                           "      input: &families [uniform, naninf]\n"
                           "    tied:\n"
                           "      - {n: 1e3, seed: 1}\n"
                           "      - {seed: 2, n: 2^11}\n"
                           "    variants: [cpu_*, double/cpu_loop]\n"
                           "    modes: [cold, first]\n"
                           "    bounds: declared\n"
                           "    baseline: cpu_loop\n"
                           "    without_gpu: {n: 50}\n"
                           "  - op: double\n"
                           "    axes: {n: [7], input: *families}\n"
                           "    variants: [cpu_loop]\n"
                           "    without_gpu: skip\n"
                           "claims:\n"
                           "  - id: c1\n"
                           "    statement: s\n"
                           "    source: s\n"
                           "    hardware: h\n"
                           "    method: m\n"
                           "    note: n\n"
                           "    value: 15.4\n"
                           "    quantity: seconds\n"
                           "    case: n=1000 dtype=float32\n"
                           "    variant: cpu_loop\n"
                           "    mode: cold\n"
                           "    rule: about\n"
                           "    factor: 2\n"
                           "    rationale: w\n";

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
        assert_int_equal(params_int(&item->emulated.params, "n"), i < 8 ? 50 : 7);
        assert_string_equal(item->emulated.input, item->problem.input);
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
    assert_string_equal(claim->rationale, "w");
    assert_true(claim->value == 15.4 && claim->factor == 2 && claim->low == 7.7 && claim->high == 30.8);
    plan_free(&plan);
}

static void claims_may_compare_two_cases_and_modes_or_state_an_error(void **state) {
    (void)state;
    static const char text[] =
        "title: t\nsuites:\n  - op: double\n    axes: {n: [10, 20]}\n    variants: [cpu_loop]\n    modes: [hot, first]\n"
        "claims:\n  - {id: c, statement: s, source: s, hardware: h, method: m, rule: at_least, value: 1, quantity: speedup,\n"
        "     case: n=10, variant: cpu_loop, mode: first, baseline: cpu_loop, baseline_case: n=20,\n"
        "     baseline_mode: hot}\n"
        "  - {id: e, statement: s, source: s, hardware: h, method: m, rule: range, low: 1, high: 2, quantity: error,\n"
        "     case: n=10, variant: cpu_loop}\n"
        "  - {id: l, statement: s, source: s, hardware: h, method: m, rule: at_most, value: 4, quantity: launches,\n"
        "     case: n=10, variant: cpu_loop}\n"
        "  - {id: b, statement: s, source: s, hardware: h, method: m, rule: about, value: 1.75, factor: 1,\n"
        "     quantity: bytes_over_minimum, case: n=10, variant: cpu_loop}\n";
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

#define HEAD "title: t\nsuites:\n  - op: double\n"
#define SUITE HEAD "    variants: [cpu_loop]\n"
#define CLAIM_TEXTS "  - {id: c, statement: s, source: s, hardware: h, method: m, rule: at_most, value: 1,\n"
#define RULED SUITE "claims:\n  - {id: c, statement: s, source: s, hardware: h, method: m, quantity: seconds,\n"
#define CLAIM SUITE "claims:\n" CLAIM_TEXTS

/* Every complaint: the file, what it begins with after the path, and what it must also say. */
static const char *const BAD[][3] = {
    {"", "1:1: the file is empty", "mapping"},
    {"[1, 2]\n", "1:1: the scenario: a mapping is expected", "not a list"},
    {"title: t\n", "1:1: 'suites' is missing", ""},
    {"suites: []\n", "1:1: 'title' is missing", ""},
    {"title: [t]\nsuites: []\n", "1:8: title: a single value is expected", "not a list"},
    {"title: t\nsuites: []\n", "2:9: suites: the list is empty", "at least one"},
    {"title: t\nsuites: {op: double}\n", "2:9: suites: a list is expected", "not a mapping"},
    {"title: t\nsuite: []\n", "2:1: unknown key 'suite' in the scenario",
     "did you mean 'suites'? (allowed: title, about, suites, claims)"},
    {"title: t\ntitle: u\n", "2:1: 'title' is given twice", "line 1"},
    {"title: t\nsuites: [\n", "3:1: not valid YAML", ""},
    {"title: t\n  suites: [1]\n", "2:9: not valid YAML", ""},
    {"title: \xff\n", "1:8: not valid YAML", "UTF-8"},
    {"title: *nowhere\n", "1:8: not valid YAML", "undefined alias"},
    {SUITE "---\ntitle: t\n", "6:1: a second document begins", "one per file"},
    {"title: t\nsuites:\n  - {variants: [cpu_loop]}\n", "3:5: 'op' is missing", ""},
    {"title: t\nsuites:\n  - op: duble\n", "3:9: unknown op 'duble'", "did you mean 'double'"},
    {HEAD, "3:5: 'variants' is missing", ""},
    {HEAD "    variants: cpu_loop\n", "4:15: variants: a list is expected", "not a single value"},
    {HEAD "    variants: []\n", "4:15: variants: the list is empty", ""},
    {HEAD "    variants: [cpu_loop, cpu_lop]\n", "4:26: in 'cpu_lop', column 1: unknown variant 'double/cpu_lop'",
     "did you mean 'double/cpu_loop'"},
    {HEAD "    variants: [gpu_*]\n", "4:16: in 'gpu_*', column 1: unknown variant 'double/gpu_*'", "known: "},
    {HEAD "    variants: [cpu_loop threads=64]\n",
     "4:16: in 'cpu_loop threads=64', column 10: double/cpu_loop: unknown parameter 'threads'", "known: none"},
    {HEAD "    variants: [cpu_loop 64]\n", "4:16: in 'cpu_loop 64', column 10: '64' is not allowed here", "name=value"},
    {HEAD "    variants: [cpu_loop, -cpu_x]\n", "4:26: in '-cpu_x', nothing to take away", ""},
    {HEAD "    variants: [-cpu_loop, cpu_loop]\n", "4:16: in '-cpu_loop', nothing to take away", ""},
    {SUITE "    axis: {n: [1]}\n", "5:5: unknown key 'axis' in a suite", "did you mean 'axes'"},
    {SUITE "    axes: []\n", "5:11: axes: a mapping is expected", ""},
    {SUITE "    axes: {}\n", "5:11: axes: empty", ""},
    {SUITE "    axes: {n: 3}\n", "5:15: n: a list is expected", "not a single value"},
    {SUITE "    axes: {n: []}\n", "5:15: n: the list is empty", ""},
    {SUITE "    axes: {n: [3, [4]]}\n", "5:19: n: a single value is expected", "not a list"},
    {SUITE "    axes: {n: [3, -4]}\n", "5:19: n=-4 is out of range", "allowed: 0 to"},
    {SUITE "    axes: {n: [abc]}\n", "5:16: n='abc' is not an integer", "allowed"},
    {SUITE "    axes: {n: [null, 1]}\n", "5:16: n='null' is not an integer", ""},
    {SUITE "    axes: {n: [1000, 7, 1e3]}\n", "5:25: the same value as element 1", ""},
    {SUITE "    axes: {n: [1], n: [2]}\n", "5:20: 'n' is given twice", ""},
    {SUITE "    axes: {m: [1]}\n", "5:12: unknown parameter 'm'", "known: n, dtype, input, seed"},
    {SUITE "    axes: {input: [uniform, ramp]}\n", "5:29: input='ramp' is not an input family of double", "allowed: uniform"},
    {SUITE "    axes: {dtype: [f16]}\n", "5:20: dtype='f16' is not allowed", "f32, f64"},
    {SUITE "    axes: {n: [1]}\n    tied: [{n: 2}]\n", "6:13: 'n' is an axis and in a tied tuple", ""},
    {SUITE "    tied: [{n: 2}, {seed: 2}]\n", "5:21: tied: 'seed' is not in the first tuple", ""},
    {SUITE "    tied: [{n: 2}, {n: 3, seed: 2}]\n", "5:20: tied: every tuple must set the same parameters", "sets 2, the first 1"},
    {SUITE "    tied: [{n: 2}, 3]\n", "5:20: a tied tuple: a mapping is expected", ""},
    {SUITE "    tied: [{}]\n", "5:12: tied: every tuple must set", "at least one"},
    {SUITE "    tied: [{n: 2}, {m: 3}]\n", "5:21: tied: 'm' is not in the first tuple", ""},
    {SUITE "    tied: [{m: 3}]\n", "5:13: unknown parameter 'm'", ""},
    {SUITE "    modes: [cold, warm]\n", "5:19: mode 'warm' is not allowed", "cold, hot, graph, enqueue, complete, first"},
    {SUITE "    modes: [cold, cold]\n", "5:19: mode 'cold' is given twice", ""},
    {SUITE "    modes: []\n", "5:12: modes: the list is empty", ""},
    {SUITE "    bounds: loose\n", "5:13: bounds 'loose' is not allowed", "strict, declared"},
    {SUITE "    baseline: cpu_lop\n", "5:15: unknown variant 'double/cpu_lop'", "did you mean"},
    {SUITE "    baseline: cpu_*\n", "5:15: unknown variant 'double/cpu_*'", ""},
    {SUITE "    without_gpu: 5\n", "5:18: without_gpu: a mapping is expected", ""},
    {SUITE "    without_gpu: skipped\n", "5:18: without_gpu: a mapping is expected", ""},
    {SUITE "    without_gpu: {n: x}\n", "5:22: n='x' is not an integer", ""},
    {SUITE "    without_gpu: {m: 1}\n", "5:19: unknown parameter 'm'", ""},
    {SUITE "claims: {}\n", "5:9: claims: a list is expected", ""},
    {RULED "     mode: cold}\n", "6:5: 'rule' is missing: about, at_least, at_most, range", ""},
    {RULED "     rule: roughly}\n", "7:12: rule 'roughly' is not allowed (allowed: about, at_least, at_most, range)", ""},
    {RULED "     rule: about, factor: 2}\n", "6:5: 'value' is missing", ""},
    {RULED "     rule: about, value: 2}\n", "6:5: 'factor' is missing", "1.33"},
    {RULED "     rule: about, value: 2, factor: 0.5}\n", "7:37: factor: 0.5 is below 1", ""},
    {RULED "     rule: about, value: fast, factor: 2}\n", "7:26: value: 'fast' is not a number", ""},
    {RULED "     rule: about, value: 0, factor: 2}\n", "7:26: value: 0 is not above 0", ""},
    {RULED "     rule: at_most, value: .nan}\n", "7:28: value: '.nan' is not a number", ""},
    {RULED "     rule: at_least, value: 2, factor: 2}\n", "7:40: factor: only claims of rule about", ""},
    {RULED "     rule: at_least, value: 2, low: 2}\n", "7:37: low: only claims of rule range", ""},
    {RULED "     rule: about, value: 2, factor: 2, high: 2}\n", "7:46: high: only claims of rule range", ""},
    {RULED "     rule: range, value: 2}\n", "7:26: value: only claims of rule about, at_least or at_most", ""},
    {RULED "     rule: range, high: 2}\n", "6:5: 'low' is missing", ""},
    {RULED "     rule: range, low: 2}\n", "6:5: 'high' is missing", ""},
    {RULED "     rule: range, low: 2, high: 2}\n", "7:33: high: 2 is not above low, 2", ""},
    {RULED "     at_least: 2}\n", "7:6: unknown key 'at_least'", ""},
    {CLAIM "     quantity: ratio}\n", "7:16: quantity 'ratio' is not allowed", "speedup, seconds"},
    {CLAIM "     quantity: seconds, mode: warm}\n", "7:31: mode 'warm' is not allowed", ""},
    {CLAIM "     quantity: seconds, mode: cold}\n", "6:5: 'case' is missing", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: n=x}\n", "7:43: case: in 'double n=x', column 8: n='x'", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1}\n", "6:5: 'variant' is missing", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_lop}\n",
     "8:15: variant: in 'cpu_lop', column 1: unknown", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=2,\n     variant: cpu_loop}\n",
     "8:15: variant: no suite of this scenario runs 'double/cpu_loop' on 'double n=1000003", "seed=2' in mode cold"},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline: cpu_loop}\n",
     "8:35: baseline: only claims of", ""},
    {CLAIM "     quantity: speedup, mode: cold, case: seed=1,\n     variant: cpu_loop}\n", "6:5: 'baseline' is missing", ""},
    {CLAIM "     quantity: speedup, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline: cpu_loop, "
           "baseline_case: seed=3}\n",
     "8:35: baseline: no suite of this scenario runs 'double/cpu_loop' on 'double n=1000003", "seed=3' in mode cold"},
    {CLAIM "     quantity: speedup, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline: cpu_loop, "
           "baseline_mode: tepid}\n",
     "8:60: baseline_mode 'tepid' is not allowed", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline_mode: hot}\n",
     "8:40: baseline_mode: only claims of quantity speedup", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_loop, output: y}\n",
     "8:33: output: only claims of quantity error", ""},
    {CLAIM "     quantity: error, mode: cold, case: seed=1,\n     variant: cpu_loop}\n", "7:29: mode: only claims of", ""},
    {CLAIM "     quantity: error, case: seed=1,\n     variant: cpu_loop, output: z}\n",
     "8:33: output 'z': double has no such output", ""},
};

static void every_error_says_where_and_what(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        Plan plan = {0};
        const char *path = file("bad.yaml", BAD[i][0]);
        const Status status = plan_add_scenario(&plan, path);
        if (status != STATUS_INVALID) fail_msg("status %s for:\n%s", status_word(status), BAD[i][0]);
        const char *message = status_message();
        const size_t length = strlen(path);
        if (strncmp(message, path, length) != 0 || message[length] != ':' ||
            strncmp(message + length + 1, BAD[i][1], strlen(BAD[i][1])) != 0 || !strstr(message, BAD[i][2]))
            fail_msg("expected '%s' and '%s', got '%s' for:\n%s", BAD[i][1], BAD[i][2], message, BAD[i][0]);
        assert_int_equal(plan.item_count, 0);
        assert_int_equal(plan.claim_count, 0);
        assert_int_equal(plan.scenario_count, 0);
        plan_free(&plan);
    }
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

static void patterns_can_be_taken_away_again(void **state) {
    (void)state;
    Plan plan = {0};
    if (plan_add_scenario(&plan, file("less.yaml", HEAD "    variants: ['*', -cpu_l*, cpu_loop, -cuda_*]\n")) != STATUS_OK)
        fail_msg("%s", status_message());
    assert_int_equal(plan.items[0].variant_count, 1);
    assert_string_equal(plan.items[0].variants[0].entry->id, "double/cpu_loop");
    assert_int_equal(plan_add_scenario(&plan, file("none.yaml", HEAD "    variants: [cpu_loop, -cpu_*]\n")), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "none.yaml:3:5: variants: none is left"));
    plan_free(&plan);
}

static void filter_and_shard(void **state) {
    (void)state;
    Plan plan = {0};
    assert_int_equal(plan_add_scenario(&plan, file("good.yaml", GOOD)), STATUS_OK);
    assert_int_equal(plan_filter(&plan, "cpu_*,gpu_x"), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "'gpu_x' matches no variant of this plan (there are: double/cpu_loop)"));
    assert_int_equal(plan_filter(&plan, ""), STATUS_INVALID);
    assert_int_equal(plan_filter(&plan, " double/cpu_*, cpu_loop"), STATUS_OK);
    assert_int_equal(plan.item_count, 10);
    assert_int_equal(plan_shard(&plan, 3, 3), STATUS_INVALID);
    assert_int_equal(plan_shard(&plan, 0, 0), STATUS_INVALID);
    assert_int_equal(plan_shard(&plan, 1, 3), STATUS_OK); /* 1, 4, 7 of 0 .. 9 */
    assert_int_equal(plan.item_count, 3);
    assert_int_equal(params_int(&plan.items[0].problem.params, "n"), 2048);
    assert_int_equal(params_int(&plan.items[1].problem.params, "n"), 1000);
    assert_int_equal(plan.items[1].problem.dtype, DTYPE_F32);
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
    if (!rolling || !registry_variant("rolling/cuda_thread_tile")) skip();
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
    json_t *variants = list_variants_json(), *ops = list_ops_json();
    assert_int_equal(json_array_size(variants), REGISTRY_VARIANT_COUNT);
    assert_int_equal(json_array_size(ops), REGISTRY_OP_COUNT);
    size_t i;
    json_t *item;
    json_array_foreach(variants, i, item) {
        const VariantEntry *entry = registry_variant(json_string_value(json_object_get(item, "id")));
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
        assert_int_equal(json_array_size(json_object_get(x, "dtypes")), 2);
    }
    json_decref(variants);
    json_decref(ops);
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rungs-scenario-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion_follows_the_file),
        cmocka_unit_test(claims_are_canonical),
        cmocka_unit_test(claims_may_compare_two_cases_and_modes_or_state_an_error),
        cmocka_unit_test(every_error_says_where_and_what),
        cmocka_unit_test(a_bad_file_leaves_the_plan_as_it_was),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(too_much_is_refused_before_memory_is_taken),
        cmocka_unit_test(names_come_from_the_path_below_scenarios),
        cmocka_unit_test(patterns_can_be_taken_away_again),
        cmocka_unit_test(filter_and_shard),
        cmocka_unit_test(a_case_by_hand),
        cmocka_unit_test(tunables_make_combinations),
        cmocka_unit_test(listings_have_what_the_registry_has),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
