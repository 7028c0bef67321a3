/* What `rungs reproduce` covers, as the scenarios say: claims of every op within each tier's time, in the order of what they are
 * worth. */
/* needs: discounted_cumsum ewm moments redact rolling */
#include "base/places.h"
#include "plan/case.h"
#include "plan/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ALSO[] = {"limits", "gates", "sweeps"}; /* of a full campaign */

static Plan select_tier(Tier tier, bool full, Campaign *campaign) {
    Plan plan = {0};
    if (plan_add_named(&plan, places_project("scenarios"), "published") != STATUS_OK) fail_msg("%s", status_message());
    for (int i = 0; full && i < 3; i++)
        if (plan_add_named(&plan, places_project("scenarios"), ALSO[i]) != STATUS_OK) fail_msg("%s", status_message());
    if (campaign_select(&plan, tier, campaign) != STATUS_OK) fail_msg("%s", status_message());
    return plan;
}

/* The item with this row, and the row's variant. */
static const PlanItem *item_with(const Plan *plan, const char *problem, const char *wanted, const VariantChoice **choice) {
    char text[CASE_TEXT_MAX], spec[SPEC_TEXT_MAX];
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++) {
            *choice = &plan->items[i].variants[v];
            if (strcmp(case_format(&plan->items[i].problem, text, sizeof text), problem) == 0 &&
                strcmp(variant_choice_format(*choice, spec, sizeof spec), wanted) == 0)
                return &plan->items[i];
        }
    return NULL;
}

/* A claim that is judged has its rows, each from as many processes; from one if it is slow or needs no interval; none is of a later
 * tier. */
static void check_claims(const Plan *plan, const Campaign *campaign, Tier tier) {
    size_t judged = 0;
    for (int c = 0; c < plan->claim_count; c++) {
        const Claim *claim = &plan->claims[c];
        const VariantChoice *choice;
        const int processes = campaign_processes(tier);
        if (claim->untestable) assert_true(campaign->judged[c]);
        assert_int_equal(campaign->judged[c], claim->untestable || (claim->has_rows && claim->tier <= tier));
        if (!campaign->judged[c]) continue;
        judged++;
        if (claim->untestable) continue;
        const PlanItem *item = item_with(plan, claim->problem, claim->variant, &choice);
        const bool timed = strcmp(claim->quantity, "speedup") == 0 || strstr(claim->quantity, "second"),
                   once = !timed || strcmp(claim->rule, "shown") == 0 || (item && choice->slow);
        if (!item || (item->processes != processes && !(once && item->processes == 1)))
            fail_msg("%s: no row of %s from %d processes", claim->id, claim->variant, processes);
        if (claim->mode && strcmp(claim->mode, "first") == 0) assert_true(item->first_call);
        if (claim->baseline &&
            !item_with(plan, claim->baseline_problem ? claim->baseline_problem : claim->problem, claim->baseline, &choice))
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
    for (int tier = TIER_QUICK; tier <= TIER_FULL; tier++) {
        Campaign campaign;
        Plan plan = select_tier((Tier)tier, false, &campaign);
        for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) assert_true(has_claim_of(&plan, &campaign, OPS[i]));
        assert_true(campaign.claims >= before && campaign.claims <= (size_t)plan.claim_count);
        check_claims(&plan, &campaign, (Tier)tier);
        before = campaign.claims;
        campaign_free(&campaign);
        plan_free(&plan);
    }
}

static void it_fits_its_time(void **state) {
    (void)state;
    for (int tier = TIER_QUICK; tier < TIER_FULL; tier++) {
        Campaign campaign;
        Plan plan = select_tier((Tier)tier, false, &campaign);
        const double seconds = plan_seconds(&plan);
        print_message("%d of %d claims, %.0f s\n", (int)campaign.claims, plan.claim_count, seconds);
        assert_true(seconds > 0 && seconds <= campaign_budget((Tier)tier));
        size_t rows = 0;
        for (int i = 0; i < plan.item_count; i++) rows += (size_t)(plan.items[i].variant_count * plan.items[i].processes);
        assert_int_equal(rows, campaign.claim_rows + campaign.other_rows);
        campaign_free(&campaign);
        plan_free(&plan);
    }
}

/* What `reproduce --full` makes; its rows and seconds by class and op go to the test's log. */
static void a_full_campaign_fits_its_time(void **state) {
    (void)state;
    enum { CAMPAIGN_SECONDS = 1560 /* 26 minutes, without sweeps, which come last */ };
    static const char *const CLASSES[] = {"", "claims", "limits", "gates", "ladders", "sizes", "sweeps"};
    Campaign campaign;
    Plan plan = select_tier(TIER_FULL, true, &campaign);
    double total = 0;
    for (int i = 0, first = 0; i < plan.item_count; i++) {
        const PlanItem *item = &plan.items[i];
        if (item->row_class < CLASS_SWEEPS) total += plan_item_seconds(item);
        if (i + 1 < plan.item_count && item[1].row_class == item->row_class && strcmp(item[1].problem.op, item->problem.op) == 0)
            continue;
        int rows = 0;
        double seconds = 0;
        for (int k = first; k <= i; k++) {
            rows += plan.items[k].variant_count * plan.items[k].processes;
            seconds += plan_item_seconds(&plan.items[k]);
        }
        print_message("%-7s %-24s %5d rows %6.0f s\n", CLASSES[item->row_class], item->problem.op, rows, seconds);
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

/* Rows of claims, then limits, gates, ladders, sweeps, each op's of a class together. Nothing is left out of a full campaign. */
static void what_is_worth_more_comes_first(void **state) {
    (void)state;
    Campaign campaign;
    Plan all = {0}, plan = select_tier(TIER_FULL, true, &campaign);
    RowClass before = CLASS_CLAIMS;
    size_t rows = 0, ordered = 0, repeated = 0;
    for (int i = 0; i < plan.item_count; i++) {
        const PlanItem *item = &plan.items[i];
        const RowClass now = item->row_class;
        assert_true(now >= before);
        assert_true(now != CLASS_CLAIMS || a_claim_names(&plan, &item->problem));
        if (i > 0 && item[-1].row_class == now) assert_true(strcmp(item[-1].problem.op, item->problem.op) <= 0);
        before = now;
        assert_int_equal(now == CLASS_SWEEPS, strncmp(item->scenario, "sweeps/", 7) == 0);
        assert_int_equal(now == CLASS_LIMITS, strcmp(item->scenario, "limits") == 0);
        assert_int_equal(now == CLASS_GATES, strcmp(item->scenario, "gates") == 0);
        assert_true(now < CLASS_SWEEPS || item->uncounted);
        assert_true(item->processes == 1 || (now == CLASS_CLAIMS && item->processes == 5) ||
                    (now < CLASS_SWEEPS && item->processes == 3));
        repeated += now == CLASS_LADDERS && item->processes == 3;
        ordered += (size_t)item->variant_count;
    }
    assert_int_equal(before, CLASS_SWEEPS);
    assert_true(repeated > 0);
    assert_int_equal(plan_add_named(&all, places_project("scenarios"), "published"), STATUS_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(plan_add_named(&all, places_project("scenarios"), ALSO[i]), STATUS_OK);
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
    Plan plan = select_tier(TIER_FULL, true, &campaign);
    size_t counted = 0, others = 0;
    for (int i = 0; i < plan.item_count; i++) {
        const PlanItem *item = &plan.items[i];
        for (int v = 0; v < item->variant_count && item->row_class < CLASS_SWEEPS; v++) {
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
            if (plan.items[i].row_class < CLASS_SWEEPS &&
                strcmp(case_format(&plan.items[i].problem, text, sizeof text), claim->problem) == 0 && plan.items[i].uncounted)
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

/* Of an op and a class: in a full campaign the items of a scenario lie together and smaller ones come first, so that a worker
 * serves all cases of its variant; where time is bounded, smaller ones come first and slow ones last, in several turns. */
static void smaller_ones_come_first(void **state) {
    (void)state;
    for (int tier = TIER_DEFAULT; tier <= TIER_FULL; tier++) {
        Campaign campaign;
        Plan plan = select_tier((Tier)tier, tier == TIER_FULL, &campaign);
        int turns = 0;
        for (int i = 1, left = 0; i < plan.item_count; i++) { /* left: the last item of a scenario before this op's turn is over */
            const PlanItem *item = &plan.items[i];
            const bool same = item[-1].row_class == item->row_class && strcmp(item[-1].problem.op, item->problem.op) == 0;
            if (!same || item->rank != item[-1].rank) left = i;
            for (int k = left; k < i && item[-1].scenario != item->scenario; k++)
                if (plan.items[k].scenario == item->scenario) fail_msg("%s comes twice in a turn", item->scenario);
            if (!same) continue;
            assert_true(item->rank >= item[-1].rank);
            turns += item->rank > item[-1].rank;
            const bool slow = item->variants[0].slow, slow_before = item[-1].variants[0].slow;
            if (tier == TIER_FULL) assert_true(item->scenario != item[-1].scenario || item->bytes >= item[-1].bytes);
            if (tier == TIER_DEFAULT && !slow) assert_false(slow_before);
            if (tier == TIER_DEFAULT && item->bytes > 100 * item[-1].bytes && item[-1].bytes > 1e6)
                assert_true(item->rank > item[-1].rank);
        }
        assert_int_equal(turns > 0, tier == TIER_DEFAULT);
        campaign_free(&campaign);
        plan_free(&plan);
    }
}

/* The keys of a scenario: a claim's tier, rows that only a full campaign makes unless a claim needs them, and slow rows. */
static void the_scenario_says_what_belongs_to_a_tier(void **state) {
    (void)state;
    static const char TEXT[] =
        "title: t\nsuites:\n  - op: double\n    axes: {n: [1, 2]}\n    variants: [cpu_loop]\n    full: [cpu_*]\n    slow: "
        "[cpu_loop]\n"
        "  - op: double\n    axes: {n: [3, 4, 5]}\n    variants: [cpu_loop]\n"
        "claims:\n"
        "  - {id: a, statement: s, source: s, hardware: h, method: m, program: ours, quantity: seconds, rule: at_most, value: 1,\n"
        "     reason: r, case: n=1, variant: cpu_loop, mode: cold, tier: default}\n"
        "  - {id: b, statement: s, source: s, hardware: h, method: m, program: ours, quantity: seconds, rule: at_most, value: 1,\n"
        "     reason: r, case: n=3, variant: cpu_loop, mode: cold}\n"
        "  - {id: c, statement: s, source: s, hardware: h, method: m, program: ours, quantity: error, rule: at_most, value: 1,\n"
        "     reason: r, case: n=4, variant: cpu_loop, tier: full}\n";
    /* What each tier makes of n = 1 to 5: processes, and of those with a claim that it judges the class. */
    static const struct {
        int processes[5];
        bool claimed[5];
    } EXPECTED[] = {{{0, 0, 1, 0, 0}, {0, 0, 1, 0, 0}}, {{1, 0, 3, 1, 1}, {1, 0, 1, 0, 0}}, {{1, 1, 5, 1, 1}, {1, 0, 1, 1, 0}}};
    char path[] = "/tmp/rungs-test-campaign-XXXXXX.yaml";
    const int descriptor = mkstemps(path, 5);
    assert_true(write(descriptor, TEXT, sizeof TEXT - 1) == (ssize_t)sizeof TEXT - 1);
    close(descriptor);
    for (int tier = TIER_QUICK; tier <= TIER_FULL; tier++) {
        Campaign campaign;
        Plan plan = {0};
        int rows = 0;
        if (plan_add_scenario(&plan, path) != STATUS_OK) fail_msg("%s", status_message());
        assert_int_equal(campaign_select(&plan, (Tier)tier, &campaign), STATUS_OK);
        for (int n = 1; n <= 5; n++) {
            char problem[CASE_TEXT_MAX];
            const VariantChoice *choice;
            snprintf(problem, sizeof problem, "double n=%d dtype=f64 input=uniform seed=1", n);
            const PlanItem *item = item_with(&plan, problem, "double/cpu_loop", &choice);
            const int expected = EXPECTED[tier].processes[n - 1];
            if ((item ? item->processes : 0) != expected) fail_msg("tier %d, n=%d: %d processes are expected", tier, n, expected);
            if (item) assert_int_equal(item->row_class == CLASS_CLAIMS, EXPECTED[tier].claimed[n - 1]);
            rows += expected;
        }
        assert_int_equal(campaign.claims, tier + 1);
        assert_int_equal(campaign.claim_rows + campaign.other_rows, rows);
        campaign_free(&campaign);
        plan_free(&plan);
    }
    unlink(path);
}

static void a_case_alone_is_run(void **state) {
    (void)state;
    Campaign campaign;
    Plan plan = {0};
    assert_int_equal(plan_add_case(&plan, "double n=5", "cpu_*"), STATUS_OK);
    assert_int_equal(campaign_select(&plan, TIER_QUICK, &campaign), STATUS_OK);
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
        cmocka_unit_test(smaller_ones_come_first),
        cmocka_unit_test(the_scenario_says_what_belongs_to_a_tier),
        cmocka_unit_test(a_case_alone_is_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
