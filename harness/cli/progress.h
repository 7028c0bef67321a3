/* progress.h - what a person sees while a run goes on: a line that updates itself on a terminal, plain lines otherwise. */
#ifndef RUNGS_CLI_PROGRESS_H
#define RUNGS_CLI_PROGRESS_H

#include "run.h"

typedef struct Progress {
    bool terminal, colour;
    int width;
} Progress;

Progress progress_make(void);
/* For RunOptions.report and RunOptions.notice; context is a Progress. */
void progress_event(void *context, const RunEvent *event);
void progress_notice(void *context, const char *text);
/* The closing lines: counts, what was emulated, what the budget left. */
void progress_summary(const RunSummary *summary, const char *out);

#endif
