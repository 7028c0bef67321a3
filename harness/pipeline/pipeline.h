/* pipeline.h - plan -> cases -> inputs -> reference -> variants in child processes -> verification -> timing -> rows. */
#ifndef RUNGS_PIPELINE_PIPELINE_H
#define RUNGS_PIPELINE_PIPELINE_H

#include "pipeline/run.h"

Status run_plan(const Plan *plan, const RunOptions *options, RunSummary *out);

#endif
