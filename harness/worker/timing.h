/* timing.h - the protocol's `time` and `ceilings`: the measure module. */
#ifndef RUNGS_WORKER_TIMING_H
#define RUNGS_WORKER_TIMING_H

#include "worker/worker.h"

extern const WorkerMeasure TIMING;

#endif
