/* launches.h - every kernel that launch() (kernel.h) has launched since somebody last asked, added up: a variant's launch
 * configuration as it came about. What a library launches by itself (CUB) is not seen. One thread launches. */
#pragma once

#include "base/status.h"

#include <stddef.h>

__BEGIN_DECLS

/* Sums over launches; shared_bytes: dynamic shared memory of a block, added up over launches. */
typedef struct Launches {
    double launches, blocks, threads, shared_bytes;
} Launches;

void launches_add(const unsigned grid[3], const unsigned block[3], size_t shared_bytes);
/* launch() failed with this status and the message now recorded. Returns the status. */
Status launches_failed(Status status);
/* The first failure since somebody last asked, or STATUS_OK: has a run() that returned STATUS_OK passed over one? */
Status launches_failure(void);
/* The sums so far; they begin anew. */
Launches launches_take(void);

__END_DECLS
