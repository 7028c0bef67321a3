/* timing.h - the worker's hands: the measure module behind the protocol's `time` and `ceilings`. */
#ifndef RUNGS_WORKER_TIMING_H
#define RUNGS_WORKER_TIMING_H

#include "worker/worker.h"

extern const WorkerMeasure TIMING;

#endif
