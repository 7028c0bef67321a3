/* session.h - a variant, an instance, and the worker that brings them together: what `run` and `exec` have in common. */
#ifndef RUNGS_PIPELINE_SESSION_H
#define RUNGS_PIPELINE_SESSION_H

#include "device/child.h"
#include "pipeline/instance.h"
#include "pipeline/options.h"
#include "plan/modules.h"
#include "record/replies.h"

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

/* Reasons to skip that need no data: no GPU, supports(). STATUS_UNSUPPORTED with the reason; STATUS_OK: none; STATUS_INVALID with
 * the compiler's first error if there is no module; another Status if supports() crashed or hung (pipeline/refusal.h). */
Status session_refused(const Session *session);
/* Starts the program that runs the choice, and waits for its first word: timeout_seconds, but ten at least. STATUS_UNSUPPORTED if
 * that program was not built; *child is NULL then. */
Status session_start(const Session *session, double timeout_seconds, Child **child);
/* Hands over the instance's memory and sends `open` to `prepare` (docs/PROTOCOL.md); prepared: what the last one said; may be NULL.
 * timeout_seconds: for the variant's own code; device and library have two minutes besides. */
Status session_open(const Instance *instance, const Session *session, Child *child, double timeout_seconds, PrepareReply *prepared);
/* Ends the case, after which another may be opened. *reusable: nothing is left of it that could disturb the next: no process, no
 * thread that runs, no 64 MiB of the device. */
Status session_end(Child *child, double timeout_seconds, bool *reusable);
/* The command `run` on the set's inputs, from the instance's poison. Takes the sizes of the outputs from the reply. */
Status session_run(Instance *instance, DataSet set, Child *child, double timeout_seconds, RunReply *ran);
/* Takes the sizes of outputs sized by data from the reply to a `run`, or from a check. */
Status session_take_counts(Instance *instance, const json_t *reply);

#endif
