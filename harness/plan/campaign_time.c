/* What a campaign takes: the prices of its rows, less what consecutive rows share: the case's inputs and reference, and, where an
 * op's turn is a whole stage, a worker for each variant and pass (pipeline/batch.h). */
#include "plan/campaign.h"
#include "plan/case.h"

#include <math.h>
#include <string.h>

static bool same_suite(const PlanItem *a, const PlanItem *b) {
    return a->stage == b->stage && a->scenario == b->scenario && strcmp(a->problem.op, b->problem.op) == 0;
}

static bool has_variant(const PlanItem *item, const VariantChoice *choice) {
    char text[SPEC_TEXT_MAX], other[SPEC_TEXT_MAX];
    for (int v = 0; v < item->variant_count && !item->not_run; v++) {
        if (item->variants[v].entry != choice->entry) continue;
        if (strcmp(variant_choice_format(&item->variants[v], text, sizeof text),
                   variant_choice_format(choice, other, sizeof other)) == 0)
            return true;
    }
    return false;
}

static int processes_of(const PlanItem *item) {
    return item->processes > 1 ? item->processes : 1;
}

/* Processes of the variant that run already, for earlier items of the suite; a first call needs its own. */
static int running(const PlanItem *items, int index, const VariantChoice *choice) {
    int most = 0;
    if (items[index].first_call) return 0;
    for (int i = index; i-- > 0 && same_suite(&items[i], &items[index]);)
        if (processes_of(&items[i]) > most && has_variant(&items[i], choice)) most = processes_of(&items[i]);
    return most;
}

static double expected(const Plan *plan, int index, const Speeds *speeds) {
    const PlanItem *item = &plan->items[index];
    double seconds = price_item(item, speeds);
    bool made = false;
    if (item->not_run || plan->turn_seconds < INFINITY) return seconds;
    for (int i = index; i-- > 0 && same_suite(&plan->items[i], item) && !made;)
        made = !plan->items[i].not_run && case_same(&plan->items[i].problem, &item->problem);
    if (made) seconds -= price_instance(item, speeds);
    for (int v = 0; v < item->variant_count; v++) {
        const int known = running(plan->items, index, &item->variants[v]), processes = processes_of(item);
        seconds -= price_start(&item->variants[v], speeds) * (known < processes ? known : processes);
    }
    return seconds;
}

double campaign_seconds(const Plan *plan, const Speeds *speeds) {
    double seconds = 0;
    for (int i = 0; i < plan->item_count; i++) seconds += expected(plan, i, speeds);
    return seconds;
}

void campaign_expect(Plan *plan) {
    for (int i = 0; i < plan->item_count; i++) plan->items[i].seconds = expected(plan, i, &(Speeds){0});
}
