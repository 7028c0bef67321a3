/* sandbox.h - bubblewrap around workers: the root read-only, no network, /tmp, /run, /dev/shm and /proc of their own, no
 * privileges. The devices of GPUs are passed. The worker confines itself inside (device/confine.h), as Landlock forbids mounts. */
#pragma once

#include "base/status.h"

#include <stdbool.h>

/* SANDBOX_PROCESSES: bwrap that waits, bwrap as the first process inside, and the worker. */
enum { SANDBOX_WORDS_MAX = 256, SANDBOX_PROCESSES = 3 };

/* STATUS_UNSUPPORTED with the reason and the remedy. Starts a program in one. */
Status sandbox_check(void);
/* From now on each worker has one, and each process that asks a module what it is. Checks first. */
Status sandbox_use(void);
bool sandbox_used(void);
/* Writes the command line, NULL-terminated, that runs argv in a sandbox, confined to a folder. Its words are borrowed. */
Status sandbox_wrap(const char *folder, const char *const *argv, const char *words[SANDBOX_WORDS_MAX]);
/* In a process that asks a module what it is: becomes itself in a sandbox where its parent uses one. Returns where it does not, or
 * inside; false: there can be none. */
bool sandbox_enter(const char *module, char *const *argv);
