#include "plan/campaign.h"

#include "plan/campaign_choice.h"
#include "plan/case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CLAIMS_SHARE = 0.85, ALL_SHARE = 0.95; /* of the time that the tier is made for */
static const double ONCE_SECONDS = 2.75;                   /* beside a worker's start; a row that takes longer is made once */
static const double LADDER_SECONDS = 0.35;                 /* the same, of a row that no claim needs */
enum { LADDER_PROCESSES = 3 };                             /* of a full campaign */
static const double TURN_SECONDS = 15; /* long enough for workers to be shared, short beside a quick look's two minutes */

/* Errors and counts are exact, and a time of other hardware is only shown: one process tells them. */
static bool needs_one(const Claim *claim) {
    return strcmp(claim->rule, "shown") == 0 ||
           !(strcmp(claim->quantity, "speedup") == 0 || strstr(claim->quantity, "second")); /* not a time, nor a rate */
}

static int processes_for(const Choice *choice, const Row *row, const Claim *claim) {
    return needs_one(claim) || row->further > ONCE_SECONDS ? 1 : campaign_processes(choice->tier);
}

/* What so many processes of the row add; its case is shared by the item's rows. */
static double cost_of(const Choice *choice, const Row *row, int processes) {
    const double shared = choice->opened[row->item] ? 0 : price_instance(&choice->plan->items[row->item], &(Speeds){0});
    return processes > row->processes ? shared + row->cost * (processes - row->processes) : 0;
}

static void enter(Choice *choice, Row *row, Stage stage, int processes) {
    choice->seconds += cost_of(choice, row, processes);
    choice->opened[row->item] = true;
    if (row->stage == STAGE_NONE) row->stage = stage;
    if (processes > row->processes) row->processes = processes;
}

static Status list_rows(Choice *choice) {
    int count = 0;
    for (int i = 0; i < choice->plan->item_count; i++) count += choice->plan->items[i].variant_count;
    choice->rows = calloc((size_t)count + 1, sizeof *choice->rows);
    choice->opened = calloc((size_t)choice->plan->item_count + 1, sizeof *choice->opened);
    if (!choice->rows || !choice->opened) return status_fail(STATUS_MEMORY, "no memory for %d rows", count);
    for (int i = 0; i < choice->plan->item_count; i++)
        for (int v = 0; v < choice->plan->items[i].variant_count; v++) {
            const PlanItem *item = &choice->plan->items[i];
            Row *row = &choice->rows[choice->count++];
            *row = (Row){.item = i, .variant = v, .cost = price_row(item, &item->variants[v], &(Speeds){0})};
            row->further = price_further(item, &item->variants[v], &(Speeds){0});
            case_format(&item->problem, row->problem, sizeof row->problem);
            variant_choice_format(&item->variants[v], row->spec, sizeof row->spec);
        }
    return STATUS_OK;
}

/* The first row of the variant on the case; NULL: the plan has none. */
static Row *find(const Choice *choice, const char *problem, const char *spec) {
    for (int r = 0; r < choice->count && problem && spec; r++)
        if (strcmp(choice->rows[r].spec, spec) == 0 && strcmp(choice->rows[r].problem, problem) == 0) return &choice->rows[r];
    return NULL;
}

static Status find_claims(Choice *choice) {
    choice->compared = calloc((size_t)choice->plan->claim_count + 1, sizeof *choice->compared);
    if (!choice->compared) return status_fail(STATUS_MEMORY, "no memory for %d claims", choice->plan->claim_count);
    for (int c = 0; c < choice->plan->claim_count; c++) {
        const Claim *claim = &choice->plan->claims[c];
        choice->compared[c].of[0] = find(choice, claim->problem, claim->variant);
        choice->compared[c].of[1] =
            find(choice, claim->baseline_problem ? claim->baseline_problem : claim->problem, claim->baseline);
    }
    return STATUS_OK;
}

static bool is_made(const Choice *choice, const Row *row) {
    return row && !choice->plan->items[row->item].not_run;
}

/* What a claim adds; INFINITY: the plan has not its rows, or does not run them. */
static double added(const Choice *choice, int c) {
    const Claim *claim = &choice->plan->claims[c];
    Row *const *found = choice->compared[c].of;
    double seconds = 0;
    if (!is_made(choice, found[0]) || (claim->baseline && !is_made(choice, found[1]))) return INFINITY;
    for (int k = 0; k < 2; k++)
        if (found[k]) seconds += cost_of(choice, found[k], processes_for(choice, found[k], claim));
    return seconds;
}

static void take(Choice *choice, int c) {
    Row *const *found = choice->compared[c].of;
    const Claim *claim = &choice->plan->claims[c];
    const char *modes[] = {claim->mode, claim->baseline_mode ? claim->baseline_mode : claim->mode};
    for (int k = 0; k < 2; k++) {
        if (!found[k]) continue;
        enter(choice, found[k], STAGE_CLAIM, processes_for(choice, found[k], claim));
        found[k]->first_call = found[k]->first_call || (modes[k] && strcmp(modes[k], mode_name(MODE_FIRST)) == 0);
    }
}

/* The op is the first word of a spec up to its slash. */
static bool of_op(const Claim *claim, const char *op) {
    const size_t length = strlen(op);
    return claim->variant && strncmp(claim->variant, op, length) == 0 && claim->variant[length] == '/';
}

/* The claim of the op that adds least; -1: none is left. */
static int cheapest(const Choice *choice, const char *op, const bool *judged) {
    int best = -1;
    double least = INFINITY;
    for (int c = 0; c < choice->plan->claim_count; c++) {
        if (judged[c] || !of_op(&choice->plan->claims[c], op) || !(added(choice, c) < least)) continue;
        least = added(choice, c), best = c;
    }
    return best;
}

/* One claim of each op after the other, the cheapest first, while they fit; one of each in any case. */
static void choose_claims(Choice *choice, bool *judged, size_t *claims) {
    const double bound = campaign_bound(choice->tier), most = bound > 0 ? CLAIMS_SHARE * bound : INFINITY;
    bool more = true;
    for (int c = 0; c < choice->plan->claim_count; c++) /* what nothing can test needs no row */
        if (choice->plan->claims[c].untestable) judged[c] = true, ++*claims;
    for (int round = 0; more; round++) {
        more = false;
        const char *names[64];
        int ops = 0;
        for (int i = 0; i < choice->plan->item_count; i++) {
            const char *op = choice->plan->items[i].problem.op;
            bool seen = false;
            for (int k = 0; k < ops; k++) seen = seen || strcmp(names[k], op) == 0;
            if (seen || ops == 64) continue;
            names[ops++] = op;
            const int c = cheapest(choice, op, judged);
            if (c < 0 || (round > 0 && choice->seconds + added(choice, c) > most)) continue;
            take(choice, c);
            judged[c] = more = true;
            ++*claims;
        }
    }
}

static int by_cost(const void *a, const void *b) {
    const Row *const *x = a, *const *y = b;
    if ((*x)->cost != (*y)->cost) return (*x)->cost < (*y)->cost ? -1 : 1;
    return (*x)->item != (*y)->item ? (*x)->item - (*y)->item : (*x)->variant - (*y)->variant;
}

static bool is_claimed(const Choice *choice, int item) {
    for (int r = 0; r < choice->count; r++)
        if (choice->rows[r].item == item && choice->rows[r].stage == STAGE_CLAIM) return true;
    return false;
}

/* In a full campaign rows of a dear case are made with its claims, so that its reference is made once. */
static Stage other_stage(const Choice *choice, const Row *row) {
    enum { DEAR_SECONDS = 1 };
    if (campaign_bound(choice->tier) == 0 && price_instance(&choice->plan->items[row->item], &(Speeds){0}) > DEAR_SECONDS &&
        is_claimed(choice, row->item))
        return STAGE_CLAIM;
    const char *scenario = choice->plan->items[row->item].scenario;
    return scenario && strncmp(scenario, "sweeps/", 7) == 0 ? STAGE_SWEEP : STAGE_LADDER;
}

/* Of a row that no claim needs. */
static int other_processes(const Choice *choice, const Row *row, Stage stage) {
    const bool once = choice->tier != CAMPAIGN_FULL || stage == STAGE_SWEEP || row->further > LADDER_SECONDS;
    return once ? 1 : LADDER_PROCESSES;
}

/* All other rows, the cheapest first, while they fit. A quick look has none, unless nothing is claimed. */
static Status choose_others(Choice *choice) {
    const double bound = campaign_bound(choice->tier), most = bound > 0 ? ALL_SHARE * bound : INFINITY;
    if (choice->tier == CAMPAIGN_QUICK && choice->plan->claim_count > 0) return STATUS_OK;
    Row **left = calloc((size_t)choice->count + 1, sizeof *left);
    int count = 0;
    if (!left) return status_fail(STATUS_MEMORY, "no memory for %d rows", choice->count);
    for (int r = 0; r < choice->count; r++)
        if (choice->rows[r].stage == STAGE_NONE) left[count++] = &choice->rows[r];
    qsort(left, (size_t)count, sizeof *left, by_cost);
    for (int r = 0; r < count; r++) {
        const Stage stage = other_stage(choice, left[r]);
        const int processes = other_processes(choice, left[r], stage);
        if (choice->plan->claim_count > 0 && choice->seconds + cost_of(choice, left[r], processes) > most) break;
        enter(choice, left[r], stage, processes);
    }
    free(left);
    return STATUS_OK;
}

static void count_rows(const Choice *choice, Campaign *out) {
    for (int r = 0; r < choice->count; r++) {
        const Row *row = &choice->rows[r];
        if (row->stage != STAGE_NONE) *(row->stage == STAGE_CLAIM ? &out->claim_rows : &out->other_rows) += (size_t)row->processes;
    }
}

Status campaign_select(Plan *plan, CampaignTier tier, Campaign *out) {
    Choice choice = {.plan = plan, .tier = tier};
    Plan ordered = {0};
    *out = (Campaign){.judged = calloc((size_t)plan->claim_count + 1, sizeof *out->judged)};
    Status status = out->judged ? prices_read() : status_fail(STATUS_MEMORY, "no memory for a campaign");
    if (status == STATUS_OK) status = list_rows(&choice);
    if (status == STATUS_OK) status = find_claims(&choice);
    if (status == STATUS_OK) choose_claims(&choice, out->judged, &out->claims);
    if (status == STATUS_OK) status = choose_others(&choice);
    if (status == STATUS_OK) status = campaign_order(&choice, &ordered);
    if (status == STATUS_OK) status = campaign_choose_counted(&ordered, plan->claims, plan->claim_count);
    if (status == STATUS_OK) {
        count_rows(&choice, out);
        ordered.turn_seconds = campaign_bound(tier) > 0 ? TURN_SECONDS : INFINITY;
        campaign_expect(&ordered);
        for (int i = 0; i < plan->item_count; i++) free(plan->items[i].variants);
        free(plan->items);
        plan->items = ordered.items, plan->item_count = ordered.item_count, plan->turn_seconds = ordered.turn_seconds;
    } else {
        for (int i = 0; i < ordered.item_count; i++) free(ordered.items[i].variants);
        free(ordered.items);
    }
    free(choice.rows);
    free(choice.opened);
    free(choice.compared);
    return status;
}

void campaign_free(Campaign *campaign) {
    free(campaign->judged);
    *campaign = (Campaign){0};
}
