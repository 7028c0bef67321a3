/* profile.h - the `counts` of a row, taken in a worker that takes no times once everything else of the row is known. */
#ifndef RUNGS_PIPELINE_PROFILE_H
#define RUNGS_PIPELINE_PROFILE_H

#include "pipeline/resume.h"
#include "pipeline/session.h"

typedef struct Counter {
    Child *child;  /* that worker, which may serve the variant's next case; NULL: none runs */
    Resume *known; /* has the counts of the run's rows: a row's further processes repeat them; NULL: each row is counted */
} Counter;

/* Starts the counter's worker where there is none, and again after a fault. Fills in `counts`, or `counts_reason`, of a row whose
 * verdict is known, and writes its timeline if one was asked for. Nothing that goes wrong here changes the rest of the row: it is
 * the reason. Nothing is started after the deadline. */
void profile_take(Instance *instance, const Session *session, Counter *counter, Row *row);

#endif
