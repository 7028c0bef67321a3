/* run.h - the pipeline: plan -> cases -> inputs -> reference -> variants in child processes -> verification -> timing -> rows. */
#ifndef RUNGS_PIPELINE_RUN_H
#define RUNGS_PIPELINE_RUN_H

#include "pipeline/options.h"

Status run_plan(const Plan *plan, const RunOptions *options, RunSummary *out);

#endif
