/* counters.h - the protocol's `count`: the counting passes of the measure module, as JSON. */
#ifndef RUNGS_WORKER_COUNTERS_H
#define RUNGS_WORKER_COUNTERS_H

#include "device/device.h"

#include <jansson.h>

/* what: "launches", "bytes", "timeline". Other words: STATUS_INTERNAL. */
Status counters_take(const char *what, const Device *device, Status (*run)(void *), Status (*after)(void *), void *context,
                     json_t **counts);
/* {"library", "launches_reason", "bytes_reason"}: what of it works on this device, and why not; null: it works. */
Status counters_check(const Device *device, json_t **answer);

#endif
