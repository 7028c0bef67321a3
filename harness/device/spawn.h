/* spawn.h - the process behind a worker: its pipes, its log, and what it must not have of the parent's. */
#pragma once

#include "base/status.h"
#include "base/temporary.h"

#include <sys/types.h>

typedef struct Spawned {
    pid_t pid;                     /* the leader of its process group */
    int commands, replies, arrays; /* our ends: to write, to read, and the socket over which files are handed to it */
    int log;                       /* an unlinked file that takes its stdout and stderr */
    TemporaryFolder own;           /* where it may write (device/confine.h): remove it when the process has ended */
} Spawned;

/* Starts argv (NULL-terminated) with "--commands FD --replies FD --arrays FD" added, confined to a folder of its own. STATUS_IO;
 * *out holds nothing then. */
Status spawn(const char *const *argv, bool on_cpu, Spawned *out);
