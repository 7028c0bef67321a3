#include "plan/scenario.h"

#include "plan/build.h"
#include "plan/case.h"

#include <stdlib.h>
#include <string.h>

enum { LADDER_PROCESSES = 3 };                              /* of a full campaign, for a GPU's rows that no claim needs */
static const double LARGE_BYTES = 2e8;                      /* of larger cases it makes one */
enum { LAST_RANK = 100 };                                   /* of slow rows */
static const double FIRST_RANK_BYTES = 1e7, RANK_STEP = 10; /* so many bytes, then so many times more in each rank */

/* A row of the plan, and what becomes of it. */
typedef struct Entry {
    const PlanItem *item;
    const VariantChoice *choice;
    RowClass row_class; /* CLASS_NONE: it is not made */
    int rank, processes;
} Entry;

double campaign_budget(Tier tier) {
    return tier == TIER_QUICK ? 120 : tier == TIER_DEFAULT ? 600 : 0;
}

int campaign_processes(Tier tier) {
    return tier == TIER_QUICK ? 1 : tier == TIER_DEFAULT ? 3 : 5;
}

static bool is_claimed(const PlanItem *item, Tier tier) {
    for (int v = 0; v < item->variant_count; v++)
        if (item->variants[v].claimed & 1U << tier) return true;
    return false;
}

/* A quick look has rows of claims alone, unless nothing is claimed. A full campaign makes a large case with its claims, so that its
 * reference is made once. */
static RowClass class_of(const Plan *plan, const PlanItem *item, const VariantChoice *choice, Tier tier) {
    static const char *const SCENARIOS[] = {[CLASS_LIMITS] = "limits",
                                            [CLASS_GATES] = "gates",
                                            [CLASS_LADDERS] = "-",
                                            [CLASS_SIZES] = "sizes/",
                                            [CLASS_SWEEPS] = "sweeps/"};
    if (choice->claimed & 1U << tier) return CLASS_CLAIMS;
    if ((tier == TIER_QUICK && plan->claim_count > 0) || (tier != TIER_FULL && choice->full)) return CLASS_NONE;
    if (tier == TIER_FULL && item->bytes > LARGE_BYTES && is_claimed(item, tier)) return CLASS_CLAIMS;
    for (RowClass row_class = CLASS_LIMITS; row_class <= CLASS_SWEEPS && item->scenario; row_class++)
        if (strncmp(item->scenario, SCENARIOS[row_class], strlen(SCENARIOS[row_class])) == 0) return row_class;
    return CLASS_LADDERS;
}

static int processes_of(const Entry *row, Tier tier) {
    const VariantChoice *choice = row->choice;
    const bool cheap = row->item->not_run || (choice->entry->backend == BACKEND_CUDA && row->item->bytes <= LARGE_BYTES);
    if (choice->slow) return 1;
    if (choice->claimed & 1U << tier) return choice->repeated & 1U << tier ? campaign_processes(tier) : 1;
    return tier == TIER_FULL && row->row_class != CLASS_SWEEPS && cheap ? LADDER_PROCESSES : 1;
}

/* Where time is bounded an op makes its smallest rows first, then another op does; otherwise a worker serves all cases of
 * its variant in a scenario, whatever their size. */
static int rank_of(const Entry *row, Tier tier) {
    int rank = 0;
    if (campaign_budget(tier) == 0) return 0;
    if (row->choice->slow) return LAST_RANK;
    for (double bytes = row->item->bytes; bytes > FIRST_RANK_BYTES; bytes /= RANK_STEP) rank++;
    return rank;
}

static int by_class(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    if (x->row_class != y->row_class) return x->row_class < y->row_class ? -1 : 1;
    const int op = strcmp(x->item->problem.op, y->item->problem.op);
    if (op != 0) return op;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    const int scenario = strcmp(x->item->scenario ? x->item->scenario : "", y->item->scenario ? y->item->scenario : "");
    if (scenario != 0) return scenario;
    if (x->item->bytes != y->item->bytes) return x->item->bytes < y->item->bytes ? -1 : 1;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    if (x->processes != y->processes) return x->processes > y->processes ? -1 : 1;
    return x->choice < y->choice ? -1 : x->choice > y->choice;
}

/* Rows of a case that are made together are one item. */
static bool same_item(const Entry *a, const Entry *b) {
    return a->item == b->item && a->row_class == b->row_class && a->rank == b->rank && a->processes == b->processes;
}

/* Appends the rows that are made, sorted, to an empty plan. */
static Status append_rows(const Entry *rows, int count, Plan *ordered, Campaign *out) {
    VariantChoice *together = calloc((size_t)count + 1, sizeof *together);
    Status status = together ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for a campaign");
    for (int r = 0; r < count && status == STATUS_OK;) {
        const Entry *first = &rows[r];
        PlanItem item = *first->item;
        item.row_class = first->row_class, item.rank = first->rank, item.processes = first->processes;
        item.variants = together, item.variant_count = 0;
        for (; r < count && same_item(first, &rows[r]); r++) {
            together[item.variant_count++] = *rows[r].choice;
            item.first_call = item.first_call || rows[r].choice->first_call;
        }
        *(item.row_class == CLASS_CLAIMS ? &out->claim_rows : &out->other_rows) +=
            (size_t)item.variant_count * (size_t)item.processes;
        status = plan_append_item(ordered, &item);
    }
    free(together);
    return status;
}

/* All rows of the tier, in their order. */
static Status order_rows(const Plan *plan, Tier tier, Plan *ordered, Campaign *out) {
    int count = 0, all = 0;
    for (int i = 0; i < plan->item_count; i++) all += plan->items[i].variant_count;
    Entry *rows = calloc((size_t)all + 1, sizeof *rows);
    if (!rows) return status_fail(STATUS_MEMORY, "no memory for %d rows", all);
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++) {
            Entry *row = &rows[count];
            *row = (Entry){.item = &plan->items[i], .choice = &plan->items[i].variants[v]};
            row->row_class = class_of(plan, row->item, row->choice, tier);
            row->processes = processes_of(row, tier), row->rank = rank_of(row, tier);
            count += row->row_class != CLASS_NONE;
        }
    qsort(rows, (size_t)count, sizeof *rows, by_class);
    const Status status = append_rows(rows, count, ordered, out);
    free(rows);
    return status;
}

/* ---- Whose launches and bytes are counted. The counts of one size tell those of the others, and taking them at every size was 7%
 * of a campaign. */

/* Bytes depend on the size; a claim about launches or memory has its own case counted. */
static bool claims_counts(const Plan *plan, const PlanItem *item) {
    char text[CASE_TEXT_MAX];
    case_format(&item->problem, text, sizeof text);
    for (const Claim *claim = plan->claims; claim < plan->claims + plan->claim_count; claim++)
        if (claim_is_about_counts(claim) && strcmp(claim->op, item->problem.op) == 0 &&
            (strcmp(claim->quantity, "bytes_over_minimum") == 0 || strcmp(claim->problem, text) == 0))
            return true;
    return false;
}

/* Of the items with this variant, has none more variants? */
static bool has_most(const Plan *ordered, const PlanItem *item, const VariantEntry *entry) {
    for (const PlanItem *other = ordered->items; other < ordered->items + ordered->item_count; other++)
        for (int v = 0; v < other->variant_count; v++)
            if (other->variants[v].entry == entry && other->row_class != CLASS_SWEEPS &&
                (other->variant_count > item->variant_count || (other->variant_count == item->variant_count && other < item)))
                return false;
    return true;
}

static void choose_counted(const Plan *plan, Plan *ordered) {
    for (int i = 0; i < ordered->item_count; i++) {
        PlanItem *item = &ordered->items[i];
        bool counted = claims_counts(plan, item);
        for (int v = 0; v < item->variant_count; v++)
            counted =
                counted || (item->variants[v].entry->backend == BACKEND_CUDA && has_most(ordered, item, item->variants[v].entry));
        item->uncounted = !counted || item->row_class == CLASS_SWEEPS;
    }
}

Status campaign_select(Plan *plan, Tier tier, Campaign *out) {
    Plan ordered = {0}, before = *plan;
    *out = (Campaign){.judged = calloc((size_t)plan->claim_count + 1, sizeof *out->judged)};
    if (!out->judged) return status_fail(STATUS_MEMORY, "no memory for a campaign");
    for (int c = 0; c < plan->claim_count; c++) {
        const Claim *claim = &plan->claims[c]; /* what nothing can test needs no row */
        out->judged[c] = claim->untestable || (claim->has_rows && claim->tier <= tier);
        out->claims += out->judged[c];
    }
    plan_measure(plan);
    const Status status = order_rows(plan, tier, &ordered, out);
    if (status == STATUS_OK) {
        choose_counted(plan, &ordered);
        plan->items = ordered.items, plan->item_count = ordered.item_count;
        ordered.items = before.items, ordered.item_count = before.item_count;
    }
    for (int i = 0; i < ordered.item_count; i++) free(ordered.items[i].variants);
    free(ordered.items);
    return status;
}

void campaign_free(Campaign *campaign) {
    free(campaign->judged);
    *campaign = (Campaign){0};
}
