/* prices.h - what a row of the plan takes, in seconds, by what such rows took on an H200 and its host (scenarios/prices.txt). Only
 * the choice and the order of a campaign depend on it, shards, and what `rungs reproduce` says before it begins. */
#ifndef RUNGS_PLAN_PRICES_H
#define RUNGS_PLAN_PRICES_H

#include "plan/scenario.h"

/* What a device copies in a second; 0: not known, it is taken for an H200 and its host. */
typedef struct Speeds {
    double gpu_bytes, cpu_bytes;
} Speeds;

/* Reads scenarios/prices.txt of the project, if there is one; what it does not name has defaults. Before the functions below. */
Status prices_read(void);
/* One row in a worker of its own; without the case's inputs and reference. */
double price_row(const PlanItem *item, const VariantChoice *choice, const Speeds *speeds);
/* The part of it that a worker's later rows do not have; and what every process of the row has beside it. */
double price_start(const VariantChoice *choice, const Speeds *speeds);
double price_further(const PlanItem *item, const VariantChoice *choice, const Speeds *speeds);
/* Inputs and references of the case, one for each bound, which its rows and their processes share. */
double price_instance(const PlanItem *item, const Speeds *speeds);
/* Both, with every process of every row. */
double price_item(const PlanItem *item, const Speeds *speeds);

#endif
