/* handed.h - files that a verb names and Python makes. Python hands over what belongs into them, and this program writes it, as
 * every file that a user names (base/output.h): Python opens none. */
#ifndef RUNGS_CLI_HANDED_H
#define RUNGS_CLI_HANDED_H

#include "base/status.h"

#include <stdbool.h>

/* A file as an option named it; path NULL: it did not. */
typedef struct OutputName {
    const char *option, *path;
} OutputName;

/* Before the work: STATUS_INVALID if two options name one file, or one of the inputs (NULL-terminated), or what can be no file;
 * STATUS_IO if the system would refuse it. names end with an option NULL. makes_folders: those that are missing will be made. */
Status handed_check(const OutputName *names, const char *const *inputs, bool makes_folders);
/* After the work: writes the files in `records`, a descriptor that Python wrote to (analysis/output.py): all, or, where one of them
 * must not be written, none. *complete: Python came to its end; otherwise nothing is written. */
Status handed_write(int records, const char *const *inputs, bool *complete);

#endif
