/* Chooses the rows of a campaign whose launches and bytes are counted. The counts of one size tell those of the others, and taking
 * them at every size was 7% of a campaign: a variant is counted in the case with the most variants. Ops with claims about bytes,
 * which depend on the size, are counted in all cases but sweeps; a claim about launches or memory has its own case counted. */
#include "plan/campaign.h"
#include "plan/case.h"
#include "plan/claim_rows.h"

#include <stdlib.h>
#include <string.h>

static bool claim_counts(const Claim *claim, const PlanItem *item) {
    char text[CASE_TEXT_MAX];
    if (!claim_is_about_counts(claim) || strcmp(claim->op, item->problem.op) != 0) return false;
    return strcmp(claim->quantity, "bytes_over_minimum") == 0 ||
           strcmp(claim->problem, case_format(&item->problem, text, sizeof text)) == 0;
}

static bool claims_counts(const Claim *claims, int count, const PlanItem *item) {
    for (const Claim *claim = claims; claim < claims + count; claim++)
        if (claim_counts(claim, item)) return true;
    return false;
}

/* An item that may be counted, and the number of variants that all such items of its case have. */
typedef struct Candidate {
    PlanItem *item;
    int variants;
} Candidate;

static int by_variants(const void *a, const void *b) {
    const Candidate *x = a, *y = b;
    if (x->variants != y->variants) return x->variants > y->variants ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

static int list_candidates(const Plan *plan, Candidate *out) {
    int count = 0;
    for (int i = 0; i < plan->item_count; i++)
        if (!plan->items[i].uncounted) out[count++] = (Candidate){.item = &plan->items[i]};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++)
            if (case_same(&out[k].item->problem, &out[i].item->problem)) out[i].variants += out[k].item->variant_count;
    qsort(out, (size_t)count, sizeof *out, by_variants);
    return count;
}

/* Has the item a CUDA variant that none of the candidates before it counts? */
static bool has_new(const Candidate *candidates, int index) {
    const PlanItem *item = candidates[index].item;
    for (int v = 0; v < item->variant_count; v++) {
        bool known = item->variants[v].entry->backend != BACKEND_CUDA;
        for (int i = 0; i < index && !known; i++)
            for (int k = 0; k < candidates[i].item->variant_count && !candidates[i].item->uncounted; k++)
                known = known || candidates[i].item->variants[k].entry == item->variants[v].entry;
        if (!known) return true;
    }
    return false;
}

Status campaign_choose_counted(Plan *plan, const Claim *claims, int claim_count) {
    Candidate *candidates = malloc(((size_t)plan->item_count + 1) * sizeof *candidates);
    if (!candidates) return status_fail(STATUS_MEMORY, "no memory for a campaign of %d cases", plan->item_count);
    const int count = list_candidates(plan, candidates);
    for (int i = 0; i < count; i++)
        candidates[i].item->uncounted = !has_new(candidates, i) && !claims_counts(claims, claim_count, candidates[i].item);
    free(candidates);
    return STATUS_OK;
}
