/* threads.h - checks that this process can start the threads that references, inputs and CPU variants need. */
#ifndef RUNGS_DEVICE_THREADS_H
#define RUNGS_DEVICE_THREADS_H

#include "base/status.h"

/* Starts one OpenMP team in a child, once in a process and before its own first team: OpenMP calls exit(1) where it gets no thread,
 * which would look like a failed check. A process that has threads already passes. STATUS_UNSUPPORTED with OpenMP's message. */
Status threads_check(void);

#endif
