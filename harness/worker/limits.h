/* limits.h - the worker's hand that tells the least time to move bytes: measure/limit.h behind the protocol's `limit`, as JSON. */
#ifndef RUNGS_WORKER_LIMITS_H
#define RUNGS_WORKER_LIMITS_H

#include "device/device.h"

#include <jansson.h>

/* The reply's "limit" object for the modes of the command. */
Status limits_take(const json_t *command, const Device *device, json_t **limit);

#endif
