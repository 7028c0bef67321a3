/* schedule.h - the order in which the items of a plan are made, by how long rows took so far. Items without a class: the plan's
 * order. Of a class: next is the op on which it has spent least time, so that a row which takes far longer than others costs the
 * other ops one turn and not their place. Further processes of a row that took long come last of all. */
#ifndef RUNGS_PIPELINE_SCHEDULE_H
#define RUNGS_PIPELINE_SCHEDULE_H

#include "plan/scenario.h"

typedef struct Run Run;

typedef struct LaterRow {
    const PlanItem *item;
    const VariantChoice *choice;
    double seconds; /* what the row took */
} LaterRow;

/* Rows that are postponed to the end of the run. */
typedef struct Later {
    LaterRow *rows;
    int count;
    bool begun; /* they are being made: nothing more is put off */
} Later;

/* Is a further process of this row to wait, when its slowest so far took so many seconds (0: there is none)? */
bool later_waits(const Later *self, const PlanItem *item, double seconds);
Status later_add(Later *self, const LaterRow *row);
/* The fastest first, each row's processes together. Sets `begun`. */
void later_begin(Later *self);
void later_close(Later *self);

/* Hands all items of the plan to `make`, those of a turn together, with the run. */
Status schedule_run(const Plan *plan, Run *run, Status (*make)(Run *run, const PlanItem *items, int count));

#endif
