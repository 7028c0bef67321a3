/* session.h - a variant, an instance, and the worker that brings them together: what `run` and `exec` have in common. */
#ifndef RUNGS_PIPELINE_SESSION_H
#define RUNGS_PIPELINE_SESSION_H

#include "device/child.h"
#include "pipeline/instance.h"
#include "pipeline/run.h"

typedef struct Session {
    const VariantChoice *choice;
    const PlanItem *item; /* NULL for exec */
    const Case *problem;
    const RunOptions *options;
    bool emulated;             /* in the emulator's program instead of on a GPU */
    const char *no_gpu_reason; /* NULL: there is a GPU */
    struct Limits *limits;     /* what the devices can do at most (pipeline/limits.h); NULL: rows get none */
    double deadline;           /* on the steady clock: nothing is profiled after it */
} Session;

/* Reasons to skip that need neither data nor a worker: no GPU, supports(). Only the shapes of the instance are looked at
 * (instance_shapes). */
bool session_refused(const Instance *instance, const Session *session, char reason[REASON_MAX]);
/* Starts the program that runs the choice, with the instance's memory. STATUS_UNSUPPORTED if that program was not built. */
Status session_start(const Instance *instance, const Session *session, Child **child);
/* Sends `open` (docs/PROTOCOL.md) and waits for its reply. */
Status session_open(const Instance *instance, const Session *session, Child *child, double timeout_seconds, json_t **reply);
/* Takes the sizes of the outputs from the reply to a `run`. */
Status session_take_counts(Instance *instance, const json_t *reply);

#endif
