/* circumstances.h - what a run records before its first row: the environment, and the peaks of the devices that it uses. */
#ifndef RUNGS_PIPELINE_CIRCUMSTANCES_H
#define RUNGS_PIPELINE_CIRCUMSTANCES_H

#include "pipeline/running.h"

/* A device that cannot be asked is not an error. */
Status circumstances_record(Run *run);

#endif
