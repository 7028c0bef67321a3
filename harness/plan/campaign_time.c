/* How much a tier is, and what a campaign takes: the prices of its rows, less what consecutive rows share: the case's inputs
 * and reference, and, where an op's turn is a whole stage, a worker for each variant and pass (pipeline/batch.h). */
#include "plan/campaign.h"
#include "plan/case.h"

#include <math.h>
#include <string.h>

double campaign_bound(CampaignTier tier) {
    return tier == CAMPAIGN_QUICK ? 120 : tier == CAMPAIGN_DEFAULT ? 600 : 0;
}

int campaign_processes(CampaignTier tier) {
    return tier == CAMPAIGN_QUICK ? 1 : tier == CAMPAIGN_DEFAULT ? 3 : 5;
}

static bool same_suite(const PlanItem *a, const PlanItem *b) {
    return a->stage == b->stage && plan_same_suite(a, b);
}

static int processes_of(const PlanItem *item) {
    return item->processes > 1 ? item->processes : 1;
}

/* Processes of the variant that run already, for earlier items of the suite; a first call needs its own. */
static int running(const PlanItem *items, int index, const VariantChoice *choice) {
    int most = 0;
    if (items[index].first_call) return 0;
    for (int i = index; i-- > 0 && same_suite(&items[i], &items[index]);)
        if (!items[i].not_run && processes_of(&items[i]) > most && plan_item_variant(&items[i], choice))
            most = processes_of(&items[i]);
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
