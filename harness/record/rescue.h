/* rescue.h - a file of rows that somebody moves or removes while a run writes to it. */
#ifndef RUNGS_RECORD_RESCUE_H
#define RUNGS_RECORD_RESCUE_H

#include "base/status.h"

/* descriptor: of the regular file that was opened as `path`, readable. STATUS_IO if it is there no more, under a message that says
 * where its rows are: under the new path, or, where it was removed, in a copy that is made beside the path or else in $TMPDIR. */
Status rescue_check(const char *path, int descriptor);

#endif
