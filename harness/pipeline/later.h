/* later.h - rows that are postponed to the end of the run: further processes of a row whose earlier one took long. */
#ifndef RUNGS_PIPELINE_LATER_H
#define RUNGS_PIPELINE_LATER_H

#include "plan/scenario.h"

typedef struct LaterRow {
    const PlanItem *item;
    const VariantChoice *choice;
    double seconds; /* what the row took */
} LaterRow;

typedef struct Later {
    LaterRow *rows;
    int count;
    bool begun; /* they are being made: nothing more is put off */
} Later;

/* Is a further process of this row to wait, when its dearest so far took so many seconds (0: there is none)? */
bool later_waits(const Later *self, const PlanItem *item, double seconds);
Status later_add(Later *self, const LaterRow *row);
/* The cheapest first, each row's processes together. Sets `begun`. */
void later_begin(Later *self);
void later_close(Later *self);

#endif
