/* evaluate.h - one variant on one instance, in a worker: open, run, judge, time, run again on other data, judge again. */
#ifndef RUNGS_PIPELINE_EVALUATE_H
#define RUNGS_PIPELINE_EVALUATE_H

#include "pipeline/session.h"
#include "verify/norms.h"

/* Fills the row's verdict, reason, bound, errors, timing, ... Only failures of rungs itself come back as a Status; whatever the
 * variant does becomes its row. */
Status evaluate(Instance *instance, const Session *session, json_t *row);

#endif
