/* contend.h - one variant on one problem, in a worker: open, run, judge, time, run again on other data, judge again. */
#ifndef RUNGS_CONTEND_H
#define RUNGS_CONTEND_H

#include "contest.h"
#include "verify/norms.h"

/* Fills the row's verdict, reason, bound, errors, timing, ... Only failures of rungs itself come back as a Status; whatever the
 * variant does becomes its row. */
Status contend(Problem *problem, const Contest *contest, json_t *row);

#endif
