/* keep.h - keeps the files of an earlier `reproduce` when another begins in its folder. */
#ifndef RUNGS_CLI_KEEP_H
#define RUNGS_CLI_KEEP_H

#include "base/status.h"

#include <stddef.h>

/* Moves rows.jsonl, REPORT.md and figures, where there are any, to FOLDER/earlier/<date of the rows, UTC>/. kept: that folder; ""
 * if there was nothing. STATUS_IO: another run is writing there, or the folder cannot be made. */
Status keep_earlier(const char *folder, char *kept, size_t size);

#endif
