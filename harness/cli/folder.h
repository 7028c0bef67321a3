/* folder.h - makes output folders, and keeps what an earlier run left in one. */
#ifndef RUNGS_CLI_FOLDER_H
#define RUNGS_CLI_FOLDER_H

#include "base/status.h"

#include <stddef.h>

/* Creates a folder and those above it. */
Status folder_make(const char *path);
/* Moves rows.jsonl, REPORT.md and figures, where there are any, to FOLDER/earlier/<date of the rows, UTC>/. kept: that folder; ""
 * if there was nothing. STATUS_IO: another run is writing there, or the folder cannot be made. */
Status keep_earlier(const char *folder, char *kept, size_t size);

#endif
