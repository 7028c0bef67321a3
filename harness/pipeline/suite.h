/* suite.h - the rows of a plan: scenario after scenario, in parts whose cases fit into memory together; in a part pass after pass,
 * in a pass variant after variant, each on all cases of the part. So references are computed once, and a pass is a process of each
 * variant. */
#ifndef RUNGS_PIPELINE_SUITE_H
#define RUNGS_PIPELINE_SUITE_H

#include "pipeline/run.h"

/* Rows that the plan has on this machine. */
size_t suites_rows(const Run *run);
Status suites_run(Run *run);

#endif
