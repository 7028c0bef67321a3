/* stamp.h - adds facts about a process of `rungs ab` to the rows that it wrote: its place in the random order, which it cannot
 * know, and its CPUs and threads, which an older program does not record. */
#ifndef RUNGS_RECORD_STAMP_H
#define RUNGS_RECORD_STAMP_H

#include "base/status.h"

#include <sys/types.h>

enum { STAMP_ID_TEXT = 64 };

/* session: id of the call of `ab`, whose processes were put into one order; process: from 1, of `of` in the stage. */
typedef struct Stamp {
    const char *session, *side;
    int seed, process, of, stage, stages;
} Stamp;

/* An id for a session. */
void stamp_new_session(char id[STAMP_ID_TEXT]);
/* Adds the object `ab` to each environment line that begins at byte `from` of the file or later. The file is replaced as a whole or
 * stays as it was; STATUS_IO, STATUS_INVALID and STATUS_MEMORY name it. A line that is not JSON stays: the next reader refuses it.
 */
Status stamp_lines(const char *path, off_t from, const Stamp *stamp);

#endif
