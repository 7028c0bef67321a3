/* temporary.h - files and folders in $TMPDIR. A file has no name, so it cannot outlive its processes. A folder outlives a killed
 * process; the next process that makes one removes it. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

enum { TEMPORARY_PATH_MAX = 512, TEMPORARY_FILE_TEXT = 32, TEMPORARY_SUFFIX = 6 };

/* $TMPDIR, or /tmp. */
const char *temporary_place(void);
/* A descriptor, closed at exec, for reading and writing. -1: errno is set. */
int temporary_file(void);

typedef struct TemporaryFile {
    int descriptor;                 /* close() it */
    char path[TEMPORARY_FILE_TEXT]; /* "/proc/self/fd/NUMBER": opens the file anew, also in a program that inherits it */
} TemporaryFile;

/* The same; inherited: the descriptor stays open at exec. STATUS_IO names $TMPDIR. */
Status temporary_open(bool inherited, TemporaryFile *out);

typedef struct TemporaryFolder {
    char path[TEMPORARY_PATH_MAX];
    int descriptor; /* of the folder, with the lock that keeps temporary_sweep() off */
} TemporaryFolder;

/* A new folder that only this user may enter. Sweeps first. STATUS_IO names $TMPDIR. */
Status temporary_folder(TemporaryFolder *out);
/* With all that is in it. */
void temporary_folder_remove(TemporaryFolder *self);
/* Removes the temporary folders in $TMPDIR whose processes have ended. */
void temporary_sweep(void);
/* The same, where `maker` has just ended or is ending: the kernel closes what it had open, with the locks, one by one, and a
 * process that it had just forked ends a moment later. Waits for these. */
void temporary_sweep_after(pid_t maker);
/* Removes from a folder, if their processes have ended, the folders (type: S_IFDIR) or files (S_IFREG) called PREFIX and
 * TEMPORARY_SUFFIX letters: those of this user without a lock, folders with mode 0700, files with one name and older than 60 s.
 * Follows no symbolic link. */
void temporary_sweep_of(const char *place, const char *prefix, mode_t type);
