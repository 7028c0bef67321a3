/* gbench.h - Google Benchmark behind one C function: it drives the loop, we take the time and keep every sample. */
#ifndef RUNGS_MEASURE_GBENCH_H
#define RUNGS_MEASURE_GBENCH_H

#include "base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One sample: its time in seconds. Not STATUS_OK ends the series. */
typedef Status (*GbenchSample)(void *context, double *seconds);

/* Takes exactly `iterations` samples in order into seconds[0..iterations), printing nothing. Returns the first failed sample's
 * status, with its message. Callable any number of times in a process, by one thread at a time. */
Status gbench_run(const char *name, size_t iterations, GbenchSample sample, void *context, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
