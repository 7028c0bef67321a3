/* What `rungs reproduce` covers: claims of every op within each tier's time, in the order of what they are worth. */
/* needs: discounted_cumsum ewm moments redact rolling */
#include "base/places.h"
#include "plan/campaign.h"
#include "plan/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Speeds UNKNOWN = {0};

static const char *const ALSO[] = {"limits", "sweeps"}; /* of a full campaign */

static Plan select_tier(CampaignTier tier, bool full, Campaign *campaign) {
    Plan plan = {0};
    if (plan_add_named(&plan, places_project("scenarios"), "published") != STATUS_OK) fail_msg("%s", status_message());
    for (int i = 0; full && i < 2; i++)
        if (plan_add_named(&plan, places_project("scenarios"), ALSO[i]) != STATUS_OK) fail_msg("%s", status_message());
    if (campaign_select(&plan, tier, campaign) != STATUS_OK) fail_msg("%s", status_message());
    return plan;
}

static const PlanItem *item_with(const Plan *plan, const char *problem, const char *wanted) {
    char text[CASE_TEXT_MAX], spec[SPEC_TEXT_MAX];
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            if (strcmp(case_format(&plan->items[i].problem, text, sizeof text), problem) == 0 &&
                strcmp(variant_choice_format(&plan->items[i].variants[v], spec, sizeof spec), wanted) == 0)
                return &plan->items[i];
    return NULL;
}

/* A claim that is judged has its rows, each from as many processes; from one if it is dear or needs no interval. */
static void check_claims(const Plan *plan, const Campaign *campaign, int processes) {
    size_t judged = 0;
    for (int c = 0; c < plan->claim_count; c++) {
        const Claim *claim = &plan->claims[c];
        if (claim->untestable) assert_true(campaign->judged[c]);
        if (!campaign->judged[c]) continue;
        judged++;
        if (claim->untestable) continue;
        const PlanItem *item = item_with(plan, claim->problem, claim->variant);
        const bool timed = strcmp(claim->quantity, "speedup") == 0 || strstr(claim->quantity, "second"),
                   once = !timed || strcmp(claim->rule, "shown") == 0 || (item && item->seconds > 2.75); /* dear */
        if (!item || (item->processes != processes && !(once && item->processes == 1)))
            fail_msg("%s: no row of %s from %d processes", claim->id, claim->variant, processes);
        if (claim->mode && strcmp(claim->mode, "first") == 0) assert_true(item->first_call);
        if (claim->baseline &&
            !item_with(plan, claim->baseline_problem ? claim->baseline_problem : claim->problem, claim->baseline))
            fail_msg("%s: no row of its baseline %s", claim->id, claim->baseline);
    }
    assert_int_equal(judged, campaign->claims);
}

static bool has_claim_of(const Plan *plan, const Campaign *campaign, const char *op) {
    for (int c = 0; c < plan->claim_count; c++)
        if (campaign->judged[c] && plan->claims[c].variant && strncmp(plan->claims[c].variant, op, strlen(op)) == 0) return true;
    return false;
}

static void every_op_has_claims(void **state) {
    (void)state;
    static const char *const OPS[] = {"discounted_cumsum/", "ewm/", "moments/", "redact/", "rolling/"};
    size_t before = 0;
    for (int tier = CAMPAIGN_QUICK; tier <= CAMPAIGN_FULL; tier++) {
        Campaign campaign;
        Plan plan = select_tier((CampaignTier)tier, false, &campaign);
        for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) assert_true(has_claim_of(&plan, &campaign, OPS[i]));
        assert_true(campaign.claims >= before && campaign.claims <= (size_t)plan.claim_count);
        check_claims(&plan, &campaign, campaign_processes((CampaignTier)tier));
        before = campaign.claims;
        campaign_free(&campaign);
        plan_free(&plan);
    }
}

static void it_fits_its_time(void **state) {
    (void)state;
    for (int tier = CAMPAIGN_QUICK; tier < CAMPAIGN_FULL; tier++) {
        Campaign campaign;
        Plan plan = select_tier((CampaignTier)tier, false, &campaign);
        const double seconds = campaign_seconds(&plan, &UNKNOWN);
        print_message("%d of %d claims, %.0f s\n", (int)campaign.claims, plan.claim_count, seconds);
        assert_true(seconds > 0 && seconds <= campaign_bound((CampaignTier)tier));
        assert_true(campaign_seconds(&plan, &(Speeds){.gpu_bytes = 4.3e11, .cpu_bytes = 1.1e10}) > 1.5 * seconds);
        size_t rows = 0;
        for (int i = 0; i < plan.item_count; i++) rows += (size_t)(plan.items[i].variant_count * plan.items[i].processes);
        assert_int_equal(rows, campaign.claim_rows + campaign.other_rows);
        campaign_free(&campaign);
        plan_free(&plan);
    }
}

/* What `reproduce --full` makes; its rows and seconds by op and stage go to the test's log. */
static void a_full_campaign_fits_its_time(void **state) {
    (void)state;
    enum { CAMPAIGN_SECONDS = 1270 /* of 24 minutes: three parts have peaks and reports, 68 s, and rows took up to 8% longer */ };
    static const char *const STAGES[] = {"", "claims", "ladder", "sweeps"};
    Campaign campaign;
    Plan plan = select_tier(CAMPAIGN_FULL, true, &campaign);
    double total = 0;
    for (int i = 0, first = 0; i < plan.item_count; i++) {
        const PlanItem *item = &plan.items[i];
        total += item->seconds;
        if (i + 1 < plan.item_count && item[1].stage == item->stage && strcmp(item[1].problem.op, item->problem.op) == 0) continue;
        int rows = 0;
        double seconds = 0;
        for (int k = first; k <= i; k++) {
            rows += plan.items[k].variant_count * plan.items[k].processes;
            seconds += plan.items[k].seconds;
        }
        print_message("%-7s %-24s %5d rows %6.0f s\n", STAGES[item->stage], item->problem.op, rows, seconds);
        first = i + 1;
    }
    print_message("in all %.0f s\n", total);
    assert_true(total <= CAMPAIGN_SECONDS);
    campaign_free(&campaign);
    plan_free(&plan);
}

static bool a_claim_names(const Plan *plan, const Case *problem) {
    char text[CASE_TEXT_MAX];
    case_format(problem, text, sizeof text);
    for (int c = 0; c < plan->claim_count; c++) {
        const Claim *claim = &plan->claims[c];
        if (claim->problem && strcmp(claim->problem, text) == 0) return true;
        if (claim->baseline_problem && strcmp(claim->baseline_problem, text) == 0) return true;
    }
    return false;
}

/* Rows of claims, then ladders, then sweeps, each op's of a stage together. Nothing is left out of a full campaign. */
static void what_is_worth_more_comes_first(void **state) {
    (void)state;
    Campaign campaign;
    Plan all = {0}, plan = select_tier(CAMPAIGN_FULL, true, &campaign);
    int stage = 1;
    size_t rows = 0, ordered = 0, repeated = 0;
    for (int i = 0; i < plan.item_count; i++) {
        const PlanItem *item = &plan.items[i];
        assert_true(item->stage >= stage && item->seconds >= 0);
        assert_true(item->stage != 1 || a_claim_names(&plan, &item->problem));
        if (i > 0 && item[-1].stage == item->stage) assert_true(strcmp(item[-1].problem.op, item->problem.op) <= 0);
        stage = item->stage;
        assert_int_equal(stage == 3, strncmp(item->scenario, "sweeps/", 7) == 0);
        assert_true(stage < 3 || item->uncounted);
        assert_true(item->processes == 1 || (stage == 1 && item->processes == 5) || (stage < 3 && item->processes == 3));
        repeated += stage == 2 && item->processes == 3;
        ordered += (size_t)item->variant_count;
    }
    assert_int_equal(stage, 3);
    assert_true(repeated > 0);
    assert_int_equal(plan_add_named(&all, places_project("scenarios"), "published"), STATUS_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(plan_add_named(&all, places_project("scenarios"), ALSO[i]), STATUS_OK);
    for (int i = 0; i < all.item_count; i++) rows += (size_t)all.items[i].variant_count;
    assert_int_equal(rows, ordered);
    campaign_free(&campaign);
    plan_free(&plan);
    plan_free(&all);
}

/* Each CUDA variant is counted somewhere, but not at every size; of redact, with claims about bytes, every row is, and of each
 * claim about launches or memory the case. */
static void a_variant_is_counted_where_most_are(void **state) {
    (void)state;
    Campaign campaign;
    Plan plan = select_tier(CAMPAIGN_FULL, true, &campaign);
    size_t counted = 0, others = 0;
    for (int i = 0; i < plan.item_count; i++) {
        const PlanItem *item = &plan.items[i];
        for (int v = 0; v < item->variant_count && item->stage < 3; v++) {
            const VariantEntry *entry = item->variants[v].entry;
            bool somewhere = entry->backend != BACKEND_CUDA;
            if (strcmp(item->problem.op, "redact") == 0) assert_false(item->uncounted);
            *(item->uncounted ? &others : &counted) += entry->backend == BACKEND_CUDA;
            for (int k = 0; k < plan.item_count && !somewhere; k++)
                for (int w = 0; w < plan.items[k].variant_count && !plan.items[k].uncounted; w++)
                    somewhere = somewhere || plan.items[k].variants[w].entry == entry;
            if (!somewhere) fail_msg("%s is counted nowhere", entry->id);
        }
    }
    for (int c = 0; c < plan.claim_count; c++) {
        const Claim *claim = &plan.claims[c];
        char text[CASE_TEXT_MAX];
        if (!claim->quantity || (strcmp(claim->quantity, "launches") != 0 && strcmp(claim->quantity, "peak_bytes") != 0)) continue;
        for (int i = 0; i < plan.item_count; i++)
            if (plan.items[i].stage < 3 && strcmp(case_format(&plan.items[i].problem, text, sizeof text), claim->problem) == 0 &&
                plan.items[i].uncounted)
                fail_msg("%s: %s is not counted", claim->id, text);
    }
    print_message("%zu rows are counted, %zu are not\n", counted, others);
#ifdef RUNGS_WITH_CUDA
    assert_true(counted < others);
#else
    assert_int_equal(counted + others, 0);
#endif
    campaign_free(&campaign);
    plan_free(&plan);
}

static double alone(const Plan *plan) {
    double seconds = 0;
    for (int i = 0; i < plan->item_count; i++) seconds += price_item(&plan->items[i], &UNKNOWN);
    return seconds;
}

/* In a full campaign an op has a stage for itself and the items of a scenario lie together, so that a worker serves all cases of
 * its variant; where time is bounded, ops take turns. */
static void a_full_campaign_shares_workers(void **state) {
    (void)state;
    Campaign campaign;
    Plan plan = select_tier(CAMPAIGN_FULL, true, &campaign);
    assert_true(plan.turn_seconds == INFINITY);
    for (int i = 1, left = 0; i < plan.item_count; i++) { /* left: the last item of a scenario before this op's stage is over */
        const PlanItem *item = &plan.items[i];
        if (item[-1].stage != item->stage || strcmp(item[-1].problem.op, item->problem.op) != 0) left = i;
        for (int k = left; k < i && item[-1].scenario != item->scenario; k++)
            if (plan.items[k].scenario == item->scenario) fail_msg("%s comes twice in a stage", item->scenario);
    }
    assert_true(campaign_seconds(&plan, &UNKNOWN) < 0.9 * alone(&plan));
    campaign_free(&campaign);
    plan_free(&plan);
    plan = select_tier(CAMPAIGN_DEFAULT, false, &campaign);
    assert_true(plan.turn_seconds > 0 && plan.turn_seconds < campaign_bound(CAMPAIGN_QUICK));
    assert_true(campaign_seconds(&plan, &UNKNOWN) == alone(&plan));
    campaign_free(&campaign);
    plan_free(&plan);
}

static void a_case_alone_is_run(void **state) {
    (void)state;
    Campaign campaign;
    Plan plan = {0};
    assert_int_equal(plan_add_case(&plan, "double n=5", "cpu_*"), STATUS_OK);
    assert_int_equal(campaign_select(&plan, CAMPAIGN_QUICK, &campaign), STATUS_OK);
    assert_int_equal(plan.item_count, 1);
    assert_int_equal(campaign.claims, 0);
    campaign_free(&campaign);
    plan_free(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_claims),
        cmocka_unit_test(it_fits_its_time),
        cmocka_unit_test(a_full_campaign_fits_its_time),
        cmocka_unit_test(what_is_worth_more_comes_first),
        cmocka_unit_test(a_variant_is_counted_where_most_are),
        cmocka_unit_test(a_full_campaign_shares_workers),
        cmocka_unit_test(a_case_alone_is_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
