/* contest.h - a variant, a problem, and the worker that brings them together: what `run` and `exec` have in common. */
#ifndef RUNGS_CONTEST_H
#define RUNGS_CONTEST_H

#include "device/child.h"
#include "problem.h"
#include "run.h"

typedef struct Contest {
    const VariantChoice *choice;
    const PlanItem *item; /* NULL for exec */
    const RunOptions *options;
    bool emulated; /* in the emulator's program instead of on a GPU */
} Contest;

/* Reasons of the variant not to run this problem that need neither data nor a worker; only its shapes are looked at. */
bool contest_refused(const Problem *problem, const VariantChoice *choice, bool emulated, char reason[REASON_MAX]);
/* Starts the program that runs the choice, with the problem's memory. STATUS_UNSUPPORTED if that program was not built. */
Status contest_start(const Problem *problem, const Contest *contest, Child **child);
/* Sends `open` (docs/PROTOCOL.md) and waits for its reply. */
Status contest_open(const Problem *problem, const Contest *contest, Child *child, double timeout_seconds, json_t **reply);
/* Takes the sizes of the outputs from the reply to a `run`. */
Status contest_take_counts(Problem *problem, const json_t *reply);

#endif
