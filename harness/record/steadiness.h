/* steadiness.h - warns if other programs used the machine, by what a run records. */
#ifndef RUNGS_RECORD_STEADINESS_H
#define RUNGS_RECORD_STEADINESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of an environment line: do other programs keep half the hardware threads or more busy? */
bool steadiness_load(const json_t *environment, char *text, size_t size);
/* Of the ceilings of a device: do two measurements of one of them differ by a quarter or more? The first such one is named. */
bool steadiness_ceilings(const char *device, const json_t *ceilings, char *text, size_t size);

#endif
