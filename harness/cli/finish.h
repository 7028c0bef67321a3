/* finish.h - how `run` and `reproduce` end. */
#ifndef RUNGS_CLI_FINISH_H
#define RUNGS_CLI_FINISH_H

#include "cli/progress.h"

/* Prints the closing lines and returns the exit code. out: the rows; go_on: options that continue what the budget left. */
int run_finish(Status status, Progress *progress, const RunSummary *summary, const char *out, const char *go_on);

#endif
