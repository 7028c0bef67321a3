/* timed.h - the samples of a variant, some of them compared: the parent draws which, and the worker shows their outputs before it
 * goes on. */
#ifndef RUNGS_PIPELINE_TIMED_H
#define RUNGS_PIPELINE_TIMED_H

#include "pipeline/session.h"

typedef struct Timed {
    Instance *instance;
    const Session *session;
    Child *child;
    double call_seconds;    /* of the first call; 0: not known */
    double timeout_seconds; /* of all samples together, and of what follows a check */
    /* Compares the outputs in the shared memory with the reference of `set`; when: for the message of a failure. *pass: they are
     * within the bound. */
    Status (*judge)(void *context, DataSet set, const char *when, bool *pass);
    void *context;
} Timed;

/* Asks for samples of the item's modes. *taken: false if an output failed, which judge() has told; else timing has the modes, with
 * the samples that were compared. Other failures are the worker's. */
Status timed_take(const Timed *timed, ModeTiming timing[MODE_COUNT], bool *taken);
/* Marks the outputs in the shared memory as never written: they are shared by all variants of the case, and what one does not write
 * must not pass by what another left. */
void timed_poison(Instance *instance);

#endif
