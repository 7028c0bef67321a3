/* stamp.h - what `rungs ab` knows of a process: its place in the random order, which the process cannot know, and the CPUs and
 * threads that it was given, which an older program does not record. Written into the lines of the process after it has run. */
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
/* Adds the object `ab` to each environment line that begins at byte `from` of the file or behind it; the file appears whole or
 * stays as it was. A line that is no JSON stays as it is: whoever reads the file next says which one. */
Status stamp_lines(const char *path, off_t from, const Stamp *stamp);

#endif
