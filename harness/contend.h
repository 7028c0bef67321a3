/* contend.h - one variant on one problem, in a worker: open, run, judge, time, run again on other data, judge again. */
#ifndef RUNGS_CONTEND_H
#define RUNGS_CONTEND_H

#include "problem.h"
#include "run.h"
#include "verify/norms.h"

typedef struct Contest {
    const VariantChoice *choice;
    const PlanItem *item;
    const RunOptions *options;
    bool emulated; /* in the emulator's program instead of on a GPU */
} Contest;

/* The program that runs a choice: argv for child_start. */
const char *const *contest_worker(const Contest *contest);
/* The `open` command of docs/PROTOCOL.md. New reference. */
json_t *contest_open_command(const Problem *problem, const VariantChoice *choice, int device);

/* Fills the row's verdict, reason, bound, errors, timing, ... Only failures of rungs itself come back as a Status; whatever the
 * variant does becomes its row. */
Status contend(Problem *problem, const Contest *contest, json_t *row);

#endif
