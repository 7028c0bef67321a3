/* campaign.h - which rows of a plan `rungs reproduce` makes, from how many processes, and in which order: by class, smallest first.
 * What belongs to which tier is said by the scenarios (docs/SCENARIOS.md, Tiers). */
#ifndef RUNGS_PLAN_CAMPAIGN_H
#define RUNGS_PLAN_CAMPAIGN_H

#include "plan/scenario.h"

typedef struct Campaign {
    bool *judged; /* for each claim of the plan: its rows are among those that are made */
    size_t claims;
    size_t claim_rows, other_rows; /* rows of claims, each process one; all else */
} Campaign;

/* Seconds after which the tier starts no row, unless the user says otherwise; 0: not bounded. */
double campaign_budget(Tier tier);
/* That a claim's times come from. */
int campaign_processes(Tier tier);
/* Replaces the items of the plan by those of the tier, in their order. The choice depends on the plan alone, not on the machine.
 * campaign_free() afterwards. */
Status campaign_select(Plan *plan, Tier tier, Campaign *out);
void campaign_free(Campaign *campaign);

#endif
