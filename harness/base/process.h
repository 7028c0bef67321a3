/* process.h - runs another program and waits for it. Arguments go through as they are: there is no shell in between. */
#ifndef RUNGS_BASE_PROCESS_H
#define RUNGS_BASE_PROCESS_H

#include "base/status.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* argv[0] is looked up on PATH; argv ends with NULL. What it writes to stdout and stderr is appended to *output; *exit_code is its
 * exit status, or 128 + signal. STATUS_UNSUPPORTED if there is no such program. */
Status process_capture(char *const argv[], Text *output, int *exit_code);

#ifdef __cplusplus
}
#endif
#endif
