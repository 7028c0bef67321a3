/* worker.h - the child half of the pipeline: obeys docs/PROTOCOL.md. Linked into rungs and into the emulator's programs. */
#ifndef RUNGS_WORKER_WORKER_H
#define RUNGS_WORKER_WORKER_H

#include "worker/state.h"

void worker_can_measure(const WorkerMeasure *measure);

/* Arguments: --commands FD --replies FD. Returns the exit code. */
int worker_main(int argc, char **argv);

#endif
