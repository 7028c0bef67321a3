/* turns.h - the order in which the items of a plan are made. Items without a stage: the plan's order. Those of a stage: next is the
 * op on which the stage has spent least time so far, so that a row which takes far longer than expected costs the other ops one
 * turn and not their place. */
#ifndef RUNGS_PIPELINE_TURNS_H
#define RUNGS_PIPELINE_TURNS_H

#include "pipeline/running.h"

/* Hands all items of the plan to `make`, some consecutive ones of one op at a time. */
Status turns_take(Run *run, Status (*make)(Run *run, const PlanItem *items, int count));

#endif
