/* handed.h - output files whose content Python makes: Python hands it over, and this program writes the files (base/output.h).
 * Python opens none. */
#ifndef RUNGS_CLI_HANDED_H
#define RUNGS_CLI_HANDED_H

#include "base/status.h"

#include <stdbool.h>

/* An option that names an output file; path: NULL if it was not given. */
typedef struct OutputName {
    const char *option, *path;
} OutputName;

/* Before the work. names end with an option NULL, inputs with NULL. STATUS_INVALID if two options name the same file, if one names
 * an input, or if a path can be no file; STATUS_IO if the system refuses to write it. makes_folders: missing folders are no error.
 */
Status handed_check(const OutputName *names, const char *const *inputs, bool makes_folders);
/* After the work: writes and removes the files of `records`, a descriptor that Python wrote to (analysis/output.py). If one of them
 * must not be written, none is. *complete: Python's last record is there; without it nothing is written. STATUS_INVALID and
 * STATUS_IO name the path; STATUS_INTERNAL: Python wrote something else. */
Status handed_write(int records, const char *const *inputs, bool *complete);

#endif
