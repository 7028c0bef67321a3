/* process.h - runs another program and waits for it. Arguments go through as they are: there is no shell in between. When this
 * process ends, so do the program and what it started (base/guard.h). */
#ifndef RUNGS_BASE_PROCESS_H
#define RUNGS_BASE_PROCESS_H

#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ProcessLimits {
    double seconds;       /* it is killed after this time; 0: never */
    size_t bytes;         /* and when it has written more than this; 0: never */
    bool quiet_errors;    /* what it writes to stderr is thrown away, not taken with the rest */
    bool own_input;       /* its stdin is this process's, not empty */
    const char *variable; /* "NAME=VALUE" for its environment; NULL: none */
} ProcessLimits;

/* argv[0] is looked up on PATH; argv ends with NULL. What it writes to stdout and stderr is appended to *output; *exit_code is its
 * exit status, or 128 + signal. limits: NULL for none. STATUS_UNSUPPORTED if there is no such program; STATUS_IO if it was killed
 * for a limit. */
Status process_capture(const char *const argv[], const ProcessLimits *limits, Text *output, int *exit_code);

#ifdef __cplusplus
}
#endif
#endif
