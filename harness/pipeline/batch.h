/* batch.h - the rows of one variant on several cases: what one worker serves, if it can. */
#ifndef RUNGS_PIPELINE_BATCH_H
#define RUNGS_PIPELINE_BATCH_H

#include "pipeline/evaluate.h"
#include "pipeline/running.h"

typedef struct BatchRow {
    const PlanItem *item;
    const VariantChoice *choice;
    Instance *instance; /* of the case; created when it is needed */
    /* For batch.c: */
    Row *row;     /* NULL: it is left out */
    size_t index; /* of the run's rows */
    Evaluated evaluated;
    double seconds; /* spent on it so far */
} BatchRow;

/* Makes and writes the rows, in their order within each worker. A worker serves one case after the other for 20 s, until a case
 * fails or leaves something behind (session_end()), or until all are served. Its passing rows are written once it has ended well.
 * If it has not, each of them is made again in a worker of its own, so that the fault is reported in the row that causes it. A row
 * that ends with an error in a worker that had served others is made again in the same way. emulated: in the emulator, one worker
 * per row. */
Status batch_run(Run *run, BatchRow *rows, int count, bool emulated);

#endif
