/* circumstances.h - what NVML says of a GPU at a moment: power, temperature, and why its clocks are held down. */
#ifndef RUNGS_WORKER_CIRCUMSTANCES_H
#define RUNGS_WORKER_CIRCUMSTANCES_H

#include "record/parts.h"

#include <stdbool.h>

/* NaN: not known. */
typedef struct Circumstances {
    double watts, celsius;
    unsigned long long reasons; /* NVML's nvmlClocksThrottleReason* bits */
} Circumstances;

/* uuid: "GPU-...". False if there is no NVML (libnvidia-ml.so.1, or what RUNGS_NVML names; empty: none), or it does not know the
 * device (MIG). */
bool circumstances_now(const char *uuid, Circumstances *out);
/* Throttled: heat, a power brake or the hardware held the clocks down before or after. (The software power cap is the load's own
 * doing and is only named.) */
Conditions circumstances_between(const Circumstances *before, const Circumstances *after);

#endif
