/* leftover.h - temporary folders that are removed when the process ends, however it ends. */
#ifndef RUNGS_BASE_LEFTOVER_H
#define RUNGS_BASE_LEFTOVER_H

#include "base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Removes a folder and the files in it. False: it is still there. */
bool leftover_remove(const char *folder);
/* Starts a process that does so when this one ends: by a signal, a crash, or as it should. It is no child of this process and has
 * nothing open of it. */
Status leftover_watch(const char *folder);

#ifdef __cplusplus
}
#endif
#endif
