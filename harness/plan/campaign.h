/* campaign.h - which rows of a plan `rungs reproduce` makes, from how many processes, and in which order: first what claims of
 * every op need, then the ladders, then sweeps; of an op the cheapest first, in a full campaign the cheapest of each scenario. */
#ifndef RUNGS_PLAN_CAMPAIGN_H
#define RUNGS_PLAN_CAMPAIGN_H

#include "plan/prices.h"

/* QUICK: some claims of every op, one process each; DEFAULT: more claims from three processes, and of the ladders what fits beside
 * them, from one; FULL: everything, claims from five processes, ladders from three. One process in any case: sweeps, claims that
 * need no interval, rows of a claim that take more than 2.75 s beside a worker's start, rows of a ladder that take more than 0.35
 * s. */
typedef enum CampaignTier { CAMPAIGN_QUICK, CAMPAIGN_DEFAULT, CAMPAIGN_FULL } CampaignTier;

typedef struct Campaign {
    bool *judged; /* for each claim of the plan: its rows are among those that are made */
    size_t claims;
    size_t claim_rows, other_rows; /* rows of claims, each process one; all else */
} Campaign;

/* Seconds that the tier is made for on one H200; 0: not bounded. */
double campaign_bound(CampaignTier tier);
int campaign_processes(CampaignTier tier);
/* Replaces the items of the plan by those of the tier, in their order. The choice depends on the plan alone, not on the machine.
 * campaign_free() afterwards. */
Status campaign_select(Plan *plan, CampaignTier tier, Campaign *out);
void campaign_free(Campaign *campaign);
/* Leaves of the items that may be counted those that are (campaign_counts.c). */
Status campaign_choose_counted(Plan *plan, const Claim *claims, int claim_count);
/* How long the rows of the plan take by what such rows take on an H200, scaled by the speeds of this machine. */
double campaign_seconds(const Plan *plan, const Speeds *speeds);
/* Sets what each item is expected to take, for the turns. */
void campaign_expect(Plan *plan);

#endif
