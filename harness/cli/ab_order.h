/* ab_order.h - processes of two builds in one random order, so that whatever drifts meanwhile - clocks, temperature, other users -
 * falls on both alike. */
#ifndef RUNGS_CLI_AB_ORDER_H
#define RUNGS_CLI_AB_ORDER_H

#include "cli/ab_process.h"

/* One random order. stage: of `stages`, which are planned before the first begins; their lines say so, and `compare` splits its
 * level by them. session: of both stages. until: clock_seconds() after which no process is started; 0: none. */
typedef struct AbOrder {
    char session[STAMP_ID_TEXT];
    int repetitions, seed, stage, stages;
    double until;
} AbOrder;

extern const char *const AB_SIDES[2];

/* Runs `repetitions` processes of each side. Says for each how much time is left. *seconds: of one process, on average. */
Status ab_order_run(const AbOrder *order, const AbProcess sides[2], double *seconds);

#endif
