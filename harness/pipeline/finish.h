/* finish.h - what a row gets once its worker has ended well: its limit, the verdict, and its counts. Both are taken in workers of
 * their own. */
#ifndef RUNGS_PIPELINE_FINISH_H
#define RUNGS_PIPELINE_FINISH_H

#include "pipeline/session.h"

/* The limits of a run: measured by workers of its own when the first row asks, and shared by the rows of a case. */
typedef struct Limits Limits;

Status limits_open(int device, Limits **out);
/* May be NULL. */
void limits_close(Limits *limits);

typedef struct Counter {
    Child *child;  /* that worker, which may serve the variant's next case; NULL: none runs */
    Resume *known; /* has the counts of the run's rows: a row's further processes repeat them; NULL: each row is counted */
} Counter;

/* Starts the counter's worker where there is none, and again after a fault. Fills in `counts`, or `counts_reason`, of a row whose
 * verdict is known, and writes its timeline if one was asked for. Nothing that goes wrong here changes the rest of the row: it is
 * the reason. Nothing is started after the deadline. */
void counts_take(Instance *instance, const Session *session, Counter *counter, Row *row);
/* The verdict of a pending row whose worker ended well: pass, unless it is faster than the device. Then its counts. The caller
 * stops the counter's worker. bound: index into the op's bounds. */
void finish_row(Instance *instance, const Session *session, int bound, Counter *counter, Row *row);

#endif
