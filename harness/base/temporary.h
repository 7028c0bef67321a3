/* temporary.h - files and folders of ours in $TMPDIR. A file has no name, so that nothing of it can stay. A folder stays where its
 * process was killed; the next process that asks for one removes it. */
#ifndef RUNGS_BASE_TEMPORARY_H
#define RUNGS_BASE_TEMPORARY_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TEMPORARY_PATH_MAX = 512 };

/* $TMPDIR, or /tmp. */
const char *temporary_place(void);
/* A descriptor, closed at exec, for reading and writing; "/proc/self/fd/NUMBER" opens it anew. -1: errno tells. */
int temporary_file(void);

typedef struct TemporaryFolder {
    char path[TEMPORARY_PATH_MAX];
    int descriptor; /* of the folder; holds its lock as long as this process lives */
} TemporaryFolder;

/* A new folder that only this user may enter. STATUS_IO names $TMPDIR. */
Status temporary_folder(TemporaryFolder *out);
void temporary_folder_remove(TemporaryFolder *self);
/* Removes the folders in $TMPDIR whose processes have ended: those of this user, of mode 0700, that nobody holds a lock on. Follows
 * no link. */
void temporary_sweep(void);

#ifdef __cplusplus
}
#endif
#endif
