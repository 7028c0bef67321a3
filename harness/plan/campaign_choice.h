/* campaign_choice.h - the rows of a campaign, shared by their choice (campaign.c) and their order (campaign_order.c). */
#ifndef RUNGS_PLAN_CAMPAIGN_CHOICE_H
#define RUNGS_PLAN_CAMPAIGN_CHOICE_H

#include "plan/campaign.h"

/* What they are for, in the order in which they are made. */
typedef enum Stage { STAGE_NONE, STAGE_CLAIM, STAGE_LADDER, STAGE_SWEEP } Stage;

typedef struct Row {
    int item, variant;
    double cost, further; /* price_row(), price_further() */
    Stage stage;
    int processes;
    bool first_call;
    char problem[CASE_TEXT_MAX], spec[SPEC_TEXT_MAX];
} Row;

/* The rows of a claim: its variant's, and its baseline's; NULL where the plan has none. */
typedef struct ClaimRows {
    Row *of[2];
} ClaimRows;

typedef struct Choice {
    const Plan *plan;
    CampaignTier tier;
    Row *rows;
    int count;
    ClaimRows *compared; /* for each claim */
    double seconds;      /* of the rows that have a stage, and of their cases */
    bool *opened;        /* for each item: one of its rows has a stage */
} Choice;

/* Appends the rows that have a stage to an empty plan, those of a case, a stage and a number of processes as one item. */
Status campaign_order(const Choice *choice, Plan *ordered);

#endif
