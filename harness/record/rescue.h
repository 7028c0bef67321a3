/* rescue.h - keeps the rows of a file that is moved or removed while a run writes to it. */
#ifndef RUNGS_RECORD_RESCUE_H
#define RUNGS_RECORD_RESCUE_H

#include "base/status.h"

#include <sys/types.h>

/* descriptor: of the regular file that was opened as `path`, readable. bytes: its length when it was last written. STATUS_IO if
 * `path` no longer leads to that file, or if it is shorter. The message says where the rows are: under the new path or, if the file
 * was removed, in a copy made beside `path` or else in $TMPDIR. */
Status rescue_check(const char *path, int descriptor, off_t bytes);

#endif
