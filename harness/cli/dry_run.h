/* dry_run.h - `rungs run --dry-run`, and that of `rungs reproduce`. */
#pragma once

#include "pipeline/run.h"

/* Prints what a run of the plan would make: cases, variants, bytes, about how long. Writes no file and starts no worker but the one
 * that answers for supports(). The exit code: 3 for a plan without rows. */
int dry_run(Plan *plan, const RunOptions *options, bool as_json);
