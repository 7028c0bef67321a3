#include "plan/build.h"
#include "plan/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Kept {
    void **blocks;
    size_t count;
} Kept;

/* A copy that lives as long as the plan; NULL: no memory. */
static void *keep(Plan *plan, const void *data, size_t bytes) {
    Kept *kept = plan->storage;
    if (!kept) kept = plan->storage = calloc(1, sizeof *kept);
    void **grown = kept ? realloc(kept->blocks, (kept->count + 1) * sizeof *grown) : NULL;
    if (!grown) return NULL;
    kept->blocks = grown;
    void *copy = malloc(bytes);
    if (copy) kept->blocks[kept->count++] = memcpy(copy, data, bytes);
    return copy;
}

Status plan_keep(Plan *plan, const char *text, const char **out) {
    *out = text ? keep(plan, text, strlen(text) + 1) : NULL;
    return !text || *out ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for a plan");
}

Status plan_keep_case(Plan *plan, const Case *problem, const Case **out) {
    *out = keep(plan, problem, sizeof *problem);
    return *out ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for a plan");
}

/* Room for one more element behind `count`: arrays grow at powers of two, so that no capacity has to be remembered. */
static Status make_room(void **array, int count, size_t element) {
    if (*array && (count & (count - 1)) != 0) return STATUS_OK;
    void *grown = realloc(*array, (size_t)(count ? 2 * count : 1) * element);
    if (!grown) return status_fail(STATUS_MEMORY, "no memory for a plan of %d entries", count);
    *array = grown;
    return STATUS_OK;
}

Status plan_append_item(Plan *plan, const PlanItem *item) {
    void *items = plan->items;
    TRY(make_room(&items, plan->item_count, sizeof *item));
    plan->items = items;
    const size_t bytes = (size_t)item->variant_count * sizeof *item->variants;
    VariantChoice *variants = malloc(bytes ? bytes : 1);
    if (!variants) return status_fail(STATUS_MEMORY, "no memory for %d variants", item->variant_count);
    if (bytes) memcpy(variants, item->variants, bytes);
    plan->items[plan->item_count] = *item;
    plan->items[plan->item_count++].variants = variants;
    return STATUS_OK;
}

Status plan_append_claim(Plan *plan, const Claim *claim) {
    void *claims = plan->claims;
    TRY(make_room(&claims, plan->claim_count, sizeof *claim));
    plan->claims = claims;
    plan->claims[plan->claim_count++] = *claim;
    return STATUS_OK;
}

Status plan_append_scenario(Plan *plan, const ScenarioInfo *info) {
    void *scenarios = plan->scenarios;
    TRY(make_room(&scenarios, plan->scenario_count, sizeof *info));
    plan->scenarios = scenarios;
    plan->scenarios[plan->scenario_count++] = *info;
    return STATUS_OK;
}

void plan_rewind(Plan *plan, const Plan *before) {
    for (int i = before->item_count; i < plan->item_count; i++) free(plan->items[i].variants);
    plan->item_count = before->item_count;
    plan->claim_count = before->claim_count;
    plan->scenario_count = before->scenario_count;
}

Status plan_leave_out(Plan *plan, const char *what) {
    char why[1000];
    snprintf(why, sizeof why, "%s", status_message());
    return text_append(plan->left_out, "left out: %s\n    %s\n", what, why);
}

static Status add_case(Plan *plan, const char *text, const char *variants) {
    PlanItem item = {.modes = (1u << MODE_COUNT) - 1};
    const Op *op;
    TRY(case_parse(text, &item.problem));
    TRY(registry_require_op(item.problem.op, &op));
    TRY(variant_choices_parse(op, variants ? variants : "*", &item.variants, &item.variant_count));
    const Status status = plan_append_item(plan, &item);
    free(item.variants);
    return status;
}

Status plan_add_case(Plan *plan, const char *text, const char *variants) {
    const Status status = add_case(plan, text, variants);
    return status == STATUS_INVALID && plan->left_out ? plan_leave_out(plan, text) : status;
}

void plan_free(Plan *plan) {
    plan_rewind(plan, &(Plan){0});
    free(plan->items);
    free(plan->claims);
    free(plan->scenarios);
    Kept *kept = plan->storage;
    for (size_t i = 0; kept && i < kept->count; i++) free(kept->blocks[i]);
    if (kept) free(kept->blocks);
    free(kept);
    *plan = (Plan){0};
}

void plan_measure(Plan *plan) {
    for (PlanItem *item = plan->items; item < plan->items + plan->item_count; item++)
        item->bytes = registry_op(item->problem.op)->work(&item->problem).bytes;
}

/* For the 1,699 rows of the campaign of 3e7666a these say 1,310 s; they took 1,338. */
double plan_row_seconds(const PlanItem *item, const VariantChoice *choice) {
    static const double ROW_SECONDS[] = {[BACKEND_CPU] = 0.4, [BACKEND_CUDA] = 0.2, [BACKEND_PEER] = 1.5}, BYTE_SECONDS = 2e-9;
    return item->not_run ? 0 : ROW_SECONDS[choice->entry->backend] + BYTE_SECONDS * item->bytes;
}

double plan_item_seconds(const PlanItem *item) {
    double seconds = 0;
    for (int v = 0; v < item->variant_count; v++)
        seconds += plan_row_seconds(item, &item->variants[v]) * (item->processes > 1 ? item->processes : 1);
    return seconds;
}

double plan_seconds(const Plan *plan) {
    double seconds = 0;
    for (int i = 0; i < plan->item_count; i++) seconds += plan_item_seconds(&plan->items[i]);
    return seconds;
}

const Case *plan_item_case(const PlanItem *item, bool emulated) {
    return emulated && item->emulated ? item->emulated : &item->problem;
}

bool plan_same_suite(const PlanItem *a, const PlanItem *b) {
    return a->scenario == b->scenario && strcmp(a->problem.op, b->problem.op) == 0;
}
