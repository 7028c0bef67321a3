/* lock.h - --lock: only one process measures at a time. */
#ifndef RUNGS_CLI_LOCK_H
#define RUNGS_CLI_LOCK_H

#include "base/status.h"

/* Waits for the lock on a file, which is made if it is not there, and holds it as long as this process lives; flock(1) takes the
 * same lock. path NULL: nothing. */
Status lock_wait(const char *path);

#endif
