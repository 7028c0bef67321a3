/* profile.h - the command `count`: what one call does, counted after all times are taken, in a worker that takes none. */
#ifndef RUNGS_WORKER_PROFILE_H
#define RUNGS_WORKER_PROFILE_H

#include "worker/state.h"
#include "worker/worker.h"

/* The reply gets `counts` (docs/PROTOCOL.md), or null with `counts_reason`: what cannot be counted is no error. */
Status worker_count(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply);

#endif
