/* limits.h - the protocol's `limit`: the least time to move bytes (measure/limit.h), as JSON. */
#ifndef RUNGS_WORKER_LIMITS_H
#define RUNGS_WORKER_LIMITS_H

#include "device/device.h"

#include <jansson.h>

/* The reply's "limit" object for the modes of the command. */
Status limits_take(const json_t *command, const Device *device, json_t **limit);

#endif
