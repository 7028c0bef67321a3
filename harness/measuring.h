/* measuring.h - the worker's hands: the measure module behind the protocol's `time` and `ceilings`. */
#ifndef RUNGS_MEASURING_H
#define RUNGS_MEASURING_H

#include "worker.h"

extern const WorkerMeasure MEASURING;

#endif
