/* rescue.h - keeps the rows of a file that is moved or removed while a run writes to it. */
#ifndef RUNGS_RECORD_RESCUE_H
#define RUNGS_RECORD_RESCUE_H

#include "base/status.h"

/* descriptor: of the regular file that was opened as `path`, readable. STATUS_IO if `path` no longer leads to that file. The
 * message says where the rows are: under the new path or, if the file was removed, in a copy made beside `path` or else in $TMPDIR.
 */
Status rescue_check(const char *path, int descriptor);

#endif
