/* settle.h - is a CPU variant done when run() has returned? Its threads must come to rest and stay there. */
#ifndef RUNGS_WORKER_SETTLE_H
#define RUNGS_WORKER_SETTLE_H

#include "base/status.h"

#include <stdbool.h>

/* Waits until every other thread of this process sleeps, and for `patience` seconds at least (longer on a busy machine, where what
 * is still to come is late too); *alone: there is no other thread. Threads of a pool may spin for a moment before they sleep.
 * STATUS_CHECK if one runs for half a second more (unless OMP_WAIT_POLICY=active has them spin), or wakes up and works. */
Status settle(double patience, bool *alone);

#endif
