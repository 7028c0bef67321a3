/* case.h - one case after the other in a worker: what is opened, prepared and, before the next, ended. */
#ifndef RUNGS_WORKER_CASE_H
#define RUNGS_WORKER_CASE_H

#include "worker/state.h"

#include <jansson.h>

/* Which variant, with which tunables, on which case the command means. */
Status case_choose(Worker *worker, const json_t *command);
/* What is ours: the device, if it is not open yet, the arrays that were handed over, guarded buffers. */
Status case_open(Worker *worker, const json_t *command);
/* What is the variant's: supports(), scratch, prepare(). The reply gets `prepare_seconds` and `launch`. */
Status case_prepare(Worker *worker, json_t *reply);
/* {"device": "cuda", "blocks": 264, ...} as `launch`, or null if the variant reports nothing. */
Status case_tell_launch(const Worker *worker, json_t *reply);
/* release(), and everything of the case is given back, whatever was opened of it; the device stays open. STATUS_CHECK if release()
 * leaves memory that prepare() took. The reply gets `kept_bytes`: by how much more of the device is in use than after the first
 * case of this worker; and `restless`: threads do not come to rest. */
Status case_end(Worker *worker, json_t *reply);

#endif
