/* files.h - the files of verbs: rows that they read, inputs that no output may replace, folders, and output files whose content
 * Python makes: Python hands it over, and this program writes the files (base/output.h). Python opens none. */
#pragma once

#include "base/status.h"
#include "cli/options.h"

#include <glob.h>
#include <stdbool.h>
#include <stddef.h>

/* STATUS_INVALID if `out`, given with `option`, is the input, also by another name. It may end in ":COLUMN" (people.csv:name). */
Status files_spare(const char *option, const char *out, const char *input);
/* The rows of the checkout's campaign, results/[0-9]*.jsonl: claims.jsonl beside them holds no rows. EXIT_GOOD, or EXIT_USAGE after
 * printing that there are none. Free with globfree(). */
int files_campaign(const char *verb, glob_t *files);

/* Before the work: the files that options of the table name. inputs end with NULL. STATUS_INVALID if two options name the same
 * file, if one names an input, or if a path can be no file; STATUS_IO if the system refuses to write it. makes_folders: missing
 * folders are no error. */
Status files_check(const CliOption *options, const char *const *inputs, bool makes_folders);
/* After the work: writes and removes the files of `records`, a descriptor that Python wrote to (analysis/output.py). If one of them
 * must not be written, none is. *complete: Python's last record is there; without it nothing is written. STATUS_INVALID and
 * STATUS_IO name the path; STATUS_INTERNAL: Python wrote something else. */
Status files_write(int records, const char *const *inputs, bool *complete);

/* Moves rows.jsonl, REPORT.md and figures, where there are any, to FOLDER/earlier/<date of the rows, UTC>/. kept: that folder; ""
 * if there was nothing. STATUS_IO: another run is writing there, or the folder cannot be made. */
Status files_keep_earlier(const char *folder, char *kept, size_t size);
