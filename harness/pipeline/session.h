/* session.h - a variant, an instance, and the worker that brings them together: what `run` and `exec` have in common. */
#ifndef RUNGS_PIPELINE_SESSION_H
#define RUNGS_PIPELINE_SESSION_H

#include "device/child.h"
#include "pipeline/instance.h"
#include "pipeline/run.h"
#include "plan/modules.h"
#include "record/replies.h"

/* The worker of a variant, which may serve several cases, one after the other. {0}: none runs. */
typedef struct VariantWorker {
    Child *child;
    size_t served; /* cases that were opened in it */
    bool reusable; /* the last case went well and left nothing: another may follow. Otherwise the worker must be ended */
} VariantWorker;

typedef struct Session {
    const VariantChoice *choice;
    const PlanItem *item; /* NULL for exec */
    const Case *problem;
    const RunOptions *options;
    bool emulated;             /* in the emulator's program instead of on a GPU */
    const char *no_gpu_reason; /* NULL: there is a GPU */
    struct Limits *limits;     /* what the devices can do at most (pipeline/finish.c); NULL: rows get none */
    double deadline;           /* on the steady clock: nothing is counted after it */
    Instance *instance;        /* of the case; created when it is needed. The other variants of the case have it too */
    Row *row;                  /* NULL: it is left out */
    /* What evaluate() makes of it. */
    VariantWorker *worker;
    int bound;            /* index into the op's bounds */
    double first_seconds; /* the first call, by the worker's clock */
    bool refused;         /* skipped by what is known of the variant and the machine alone */
    bool decided;         /* the verdict is in the row */
    bool opened;          /* the case was opened in a worker */
    bool pending;         /* all is well so far: the verdict waits for the end of the worker, then finish_row() */
    /* For its batch (suite.c). */
    size_t index;   /* of the run's rows */
    double seconds; /* spent on it so far */
} Session;

/* The GPU that a run would use. no_gpu_reason is "" if there is one. */
bool gpu_there(int device, char *no_gpu_reason, size_t size);
/* Would the emulator run this choice? */
bool is_emulated(const VariantChoice *choice, EmulatorKind emulator, bool has_gpu);

/* Asks supports() in a process of its own, so that whatever it does costs its own row only. A process answers for one variant; it
 * stands still between two questions. STATUS_UNSUPPORTED: the message is its reason. Otherwise "supports(): " and what became of
 * the process (device/child.h). launch: also what configuration() reports for the case on the first device (docs/PROTOCOL.md); may
 * be NULL. */
Status supports_ask(const VariantChoice *choice, const Case *problem, double timeout_seconds, Launch *launch);
/* Ends the processes. */
void supports_close(void);
/* Reasons to skip that need no data: no GPU, supports(). STATUS_UNSUPPORTED with the reason; STATUS_OK: none; STATUS_INVALID with
 * the compiler's first error if there is no module; another Status if supports() crashed or hung. */
Status session_refused(const Session *session);
/* Starts the program that runs the choice, and waits for its first word: timeout_seconds, but ten at least. STATUS_UNSUPPORTED if
 * that program was not built; *child is NULL then. */
Status session_start(const Session *session, double timeout_seconds, Child **child);
/* Hands over the instance's memory and sends `open` to `prepare` (docs/PROTOCOL.md); prepared: what the last one said; may be NULL.
 * timeout_seconds: for the variant's own code; device and library have two minutes besides. */
Status session_open(const Session *session, Child *child, double timeout_seconds, PrepareReply *prepared);
/* Ends the case, after which another may be opened. *reusable: nothing is left of it that could disturb the next: no process, no
 * thread that runs, no 64 MiB of the device. */
Status session_end(Child *child, double timeout_seconds, bool *reusable);
/* The command `run` on the set's inputs, from the instance's poison. Takes the sizes of the outputs from the reply. */
Status session_run(const Session *session, DataSet set, Child *child, double timeout_seconds, RunReply *ran);
/* Takes the sizes of outputs sized by data from the reply to a `run`, or from a check. */
Status session_take_counts(Instance *instance, const json_t *reply);

#endif
