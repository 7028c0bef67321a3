/* threads.h - can this process start the threads that references, inputs and CPU variants need? */
#ifndef RUNGS_DEVICE_THREADS_H
#define RUNGS_DEVICE_THREADS_H

#include "base/status.h"

/* Starts one team of OpenMP's threads in a child, once for each process: where OpenMP cannot have a thread it ends the process with
 * 1, as if a check had failed. Before the process's own first team; one that has threads already passes. STATUS_UNSUPPORTED with
 * what OpenMP said. */
Status threads_check(void);

#endif
