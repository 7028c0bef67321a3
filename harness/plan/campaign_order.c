/* The order of a campaign's rows. Ops take turns within a stage (pipeline/turns.h), so that only the order within an op matters.
 * Where everything is made, an op's turn is the whole stage: its items of a scenario lie together, and a worker serves all cases of
 * its variant. */
#include "plan/build.h"
#include "plan/campaign_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An item of the new plan. */
typedef struct Place {
    PlanItem item;
    int magnitude; /* of its dearest row, where time is bounded: what costs far more comes later, whatever its scenario */
    double cost;
    int origin;
} Place;

static int by_worth(const void *a, const void *b) {
    const Place *x = a, *y = b;
    if (x->item.stage != y->item.stage) return x->item.stage < y->item.stage ? -1 : 1;
    const int op = strcmp(x->item.problem.op, y->item.problem.op);
    if (op != 0) return op;
    if (x->magnitude != y->magnitude) return x->magnitude < y->magnitude ? -1 : 1;
    const int scenario = strcmp(x->item.scenario ? x->item.scenario : "", y->item.scenario ? y->item.scenario : "");
    if (scenario != 0) return scenario;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    return x->origin - y->origin;
}

/* The rows of one item at one stage that are made by so many processes. False: it has none. */
static bool gather(const Choice *choice, int item, Stage stage, int processes, VariantChoice *room, Place *out) {
    enum { MAGNITUDE_FROM = 2, STEP = 4 };
    *out = (Place){.item = choice->plan->items[item], .origin = item};
    out->item.variants = room;
    out->item.variant_count = 0;
    out->item.stage = stage;
    out->item.uncounted = stage == STAGE_SWEEP;
    out->item.processes = processes;
    for (int r = 0; r < choice->count; r++) {
        const Row *row = &choice->rows[r];
        if (row->item != item || row->stage != stage || row->processes != processes) continue;
        room[out->item.variant_count++] = choice->plan->items[item].variants[row->variant];
        out->item.first_call = out->item.first_call || row->first_call;
        out->cost = fmax(out->cost, row->cost);
    }
    for (double cost = out->cost; campaign_bound(choice->tier) > 0 && cost > MAGNITUDE_FROM; cost /= STEP) out->magnitude++;
    return out->item.variant_count > 0;
}

Status campaign_order(const Choice *choice, Plan *ordered) {
    const int processes_most = campaign_processes(CAMPAIGN_FULL);
    Place *places = calloc((size_t)choice->count + 1, sizeof *places); /* each has a row; one more, which gather() tries */
    VariantChoice *room = calloc((size_t)choice->count + 1, sizeof *room);
    Status status = places && room ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for a campaign");
    int count = 0, used = 0;
    for (int i = 0; i < choice->plan->item_count && status == STATUS_OK; i++)
        for (Stage stage = STAGE_CLAIM; stage <= STAGE_SWEEP; stage++)
            for (int processes = processes_most; processes > 0; processes--)
                if (gather(choice, i, stage, processes, room + used, &places[count])) used += places[count++].item.variant_count;
    if (places) qsort(places, (size_t)count, sizeof *places, by_worth);
    for (int i = 0; i < count && status == STATUS_OK; i++) status = plan_append_item(ordered, &places[i].item);
    free(places);
    free(room);
    return status;
}
