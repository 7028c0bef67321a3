/* output.h - files that a user names for results. A regular file appears whole or stays as it was, also behind symbolic links,
 * which stay links. Devices, pipes and FIFOs are written as they are. */
#ifndef RUNGS_BASE_OUTPUT_H
#define RUNGS_BASE_OUTPUT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OUTPUT_PATH_MAX = 4096 };

typedef struct Output {
    int descriptor;
    const char *path;             /* as the user named it: for messages; the caller keeps it */
    bool replaces;                /* the target, when all is written; false: written in place */
    char target[OUTPUT_PATH_MAX]; /* behind symbolic links */
    char draft[OUTPUT_PATH_MAX];  /* beside the target until all is written; "": it has no name, or is none */
} Output;

/* Do both paths name one file, by whatever names? Two that do not exist yet: one name in one folder. */
bool output_same(const char *one, const char *other);
/* How a path is refused that cannot be `what` ("written"): STATUS_INVALID where it cannot be one, STATUS_IO where the system
 * refuses.
 */
Status output_refuse(const char *path, const char *what, int error);
/* Without a reader a FIFO would lose what is written, or block for ever: STATUS_IO if none comes within 10 s. */
Status output_open_fifo(const char *path, int *descriptor);
/* The parent folder must exist. STATUS_INVALID: no such folder, or the path is a folder; STATUS_IO: the system refuses. A FIFO as
 * above. */
Status output_open(const char *path, Output *out);
/* STATUS_IO names the path. */
Status output_write(Output *self, const void *data, size_t bytes);
/* written: what became of the writing. STATUS_OK puts the file in its place; anything else removes it. Returns `written`, or why
 * the file could not be put there. */
Status output_close(Output *self, Status written);

#ifdef __cplusplus
}
#endif
#endif
