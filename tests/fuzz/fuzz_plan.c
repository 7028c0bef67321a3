/* Whatever a case, a variant pattern or a scenario file holds, it is read and comes back the same, or refused with its place. */
#include "base/text.h"
#include "fuzz.h"
#include "plan/case.h"
#include "plan/scenario.h"

#include <string.h>
#include <unistd.h>

void fuzz_case(const uint8_t *bytes, size_t size) {
    char *text = fuzz_text(bytes, size);
    Case problem, again;
    char line[CASE_TEXT_MAX], twice[CASE_TEXT_MAX];
    const Status status = case_parse(text, &problem);
    if (status != STATUS_OK) {
        REQUIRE(fuzz_refused(status, "column "));
    } else {
        case_format(&problem, line, sizeof line);
        REQUIRE(case_parse(line, &again) == STATUS_OK);
        REQUIRE(strcmp(case_format(&again, twice, sizeof twice), line) == 0);
        REQUIRE(case_same(&problem, &again));
        REQUIRE(again.seed == problem.seed && again.dtype == problem.dtype);
        REQUIRE(params_int(&again.params, "n") == params_int(&problem.params, "n"));
        REQUIRE(params_choice(&again.params, "agg") == params_choice(&problem.params, "agg"));
        REQUIRE(params_real(&again.params, "gamma") == params_real(&problem.params, "gamma"));
        REQUIRE(strcmp(params_text(&again.params, "file"), params_text(&problem.params, "file")) == 0);
        REQUIRE(params_has(&again.params, "n") && !params_has(&again.params, "m"));
        REQUIRE(case_has(&again, "n") && case_has(&again, "seed") && !case_has(&again, "m"));
        for (int i = 0; i < again.params.count; i++) {
            const bool is_option = again.params.specs[i].kind == PARAM_OPTION;
            REQUIRE(params_chosen(&again.params, i) == params_chosen(&problem.params, i));
            REQUIRE(is_option == (params_chosen(&again.params, i) || params_unsaid(&again.params, i)));
        }
        REQUIRE(params_set(&again.params, "m", "1") == STATUS_INVALID);
    }
    free(text);
}

/* A pattern of a suite, read and written again. */
static void one_pattern(const char *text) {
    VariantChoice *choices, *again;
    int count, one;
    char spec[SPEC_TEXT_MAX], twice[SPEC_TEXT_MAX];
    const Status status = variant_choices_parse(registry_op("op"), text, &choices, &count);
    if (status != STATUS_OK) {
        REQUIRE(choices == NULL);
        REQUIRE(strncmp(status_message(), "more than", 9) == 0 || fuzz_refused(status, "column "));
        return;
    }
    REQUIRE(count > 0);
    variant_choice_format(&choices[count - 1], spec, sizeof spec);
    REQUIRE(variant_choices_parse(registry_op("op"), spec, &again, &one) == STATUS_OK && one == 1);
    REQUIRE(strcmp(variant_choice_format(&again[0], twice, sizeof twice), spec) == 0);
    free(again);
    free(choices);
}

/* The list behind --variants, on a plan of two cases: a subset of its items is left, each with variants of its own. */
static void one_filter(const char *text) {
    Plan plan = {0};
    REQUIRE(plan_add_case(&plan, "op n=1", NULL) == STATUS_OK && plan_add_case(&plan, "op n=2", "cuda_b tile=1,2") == STATUS_OK);
    const Status status = plan_filter(&plan, text);
    REQUIRE(status == STATUS_OK || status == STATUS_INVALID);
    REQUIRE(plan.item_count <= 2);
    for (int i = 0; status == STATUS_OK && i < plan.item_count; i++) REQUIRE(plan.items[i].variant_count > 0);
    plan_free(&plan);
}

void fuzz_pattern(const uint8_t *bytes, size_t size) {
    char *text = fuzz_text(bytes, size);
    one_pattern(text);
    one_filter(text);
    free(text);
}

static void check_plan(Plan *plan) {
    REQUIRE(plan->scenario_count == 1);
    for (int i = 0; i < plan->claim_count; i++) {
        json_t *claim = claim_to_json(&plan->claims[i]);
        REQUIRE(json_is_string(json_object_get(claim, "id")) &&
                json_is_string(json_object_get(claim, "expected")) == json_is_string(json_object_get(claim, "rule")));
        json_decref(claim);
    }
    const int items = plan->item_count;
    if (plan_shard(plan, 1, 2) == STATUS_OK)
        REQUIRE(plan->item_count > 0 && plan->item_count < items);
    else
        REQUIRE(plan->item_count == items);
}

void fuzz_scenario(const uint8_t *bytes, size_t size) {
    char path[FUZZ_PATH_MAX];
    const int fd = fuzz_file(bytes, size, path);
    Plan plan = {0};
    scenario_want(path);
    const Status status = plan_add_scenario(&plan, path);
    if (status == STATUS_OK) {
        check_plan(&plan);
    } else {
        REQUIRE(fuzz_refused(status, path));
        REQUIRE(plan.item_count == 0 && plan.claim_count == 0 && plan.scenario_count == 0);
    }
    plan_free(&plan);
    Text left_out = {0}; /* as `run --skip-unknown` reads it: what is whole stays whole */
    Plan lenient = {.left_out = &left_out};
    REQUIRE(plan_add_scenario(&lenient, path) == STATUS_OK || status != STATUS_OK);
    plan_free(&lenient);
    text_free(&left_out);
    char *text;
    size_t length;
    REQUIRE(text_read_file(path, &text, &length) == STATUS_OK && length == size && memcmp(text, bytes, size) == 0);
    free(text);
    close(fd);
}
