/* steadiness.h - signs in what a run records that other programs were using the machine: words for a warning. */
#ifndef RUNGS_RECORD_STEADINESS_H
#define RUNGS_RECORD_STEADINESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of an environment line: is the load average at the start half the hardware threads or more? */
bool steadiness_load(const json_t *environment, char *text, size_t size);
/* Of the ceilings of a device: do two measurements of one of them differ by a quarter or more? The first such one is named. */
bool steadiness_ceilings(const char *device, const json_t *ceilings, char *text, size_t size);

#endif
