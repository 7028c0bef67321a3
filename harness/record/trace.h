/* trace.h - timelines of calls in the trace format of Chrome, which Perfetto and chrome://tracing show. */
#ifndef RUNGS_RECORD_TRACE_H
#define RUNGS_RECORD_TRACE_H

#include "base/status.h"

#include <jansson.h>

/* Before the first call: an earlier timeline is emptied. STATUS_INVALID: the file is something else, which stays. */
Status trace_begin(const char *path);
/* Adds one call as a process of its own to the file, which is made if it is not there. events: of the reply to `count` with
 * `timeline` (docs/PROTOCOL.md). */
Status trace_append(const char *path, const char *title, const json_t *events);

#endif
