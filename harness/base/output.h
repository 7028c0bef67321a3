/* output.h - files that a user names for results. A regular file appears whole or stays as it was, also behind symbolic links,
 * which stay links. Devices, pipes and FIFOs are written as they are. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { OUTPUT_PATH_MAX = 4096 };

typedef struct Output {
    int descriptor;
    const char *path;             /* as the user named it: for messages; the caller keeps it */
    bool replaces;                /* the target, when all is written; false: written in place */
    char target[OUTPUT_PATH_MAX]; /* behind symbolic links */
    char draft[OUTPUT_PATH_MAX];  /* the file beside the target until all is written; "": it has no name, or `replaces` is false */
} Output;

/* Do both paths lead to one file? Where neither exists: do they give the same name in the same folder? */
bool output_same(const char *one, const char *other);
/* "PATH: cannot be WHAT: ERROR"; what: "written"; error: an errno. STATUS_INVALID if it says that no file can have this path, else
 * STATUS_IO. */
Status output_refuse(const char *path, const char *what, int error);
/* Creates a folder and those above it. */
Status output_make_folder(const char *path, unsigned mode);
/* Opens a FIFO for writing. STATUS_IO if no program opens it for reading within 10 s. */
Status output_open_fifo(const char *path, int *descriptor);
/* The parent folder must exist. STATUS_INVALID: no such folder, or the path is a folder; STATUS_IO: the system refuses. A FIFO as
 * above. */
Status output_open(const char *path, Output *out);
/* Writes all of it to a descriptor. False: errno is set; ENOSPC where the system takes no more. */
bool output_write_all(int descriptor, const void *data, size_t bytes);
/* STATUS_IO names the path. */
Status output_write(Output *self, const void *data, size_t bytes);
/* written: the status of all writes. STATUS_OK puts the file in its place; anything else discards it. Returns `written`, or
 * STATUS_IO if the file could not be put there. */
Status output_close(Output *self, Status written);
