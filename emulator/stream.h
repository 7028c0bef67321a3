/* stream.h - the emulator's only stream. */
#ifndef RUNGS_EMULATOR_STREAM_H
#define RUNGS_EMULATOR_STREAM_H

#include "base/status.h"

void *stream_given(void);
/* Work must go to the stream that the variant was given: STATUS_CHECK otherwise. `what` names the call. */
Status stream_check(const void *stream, const char *what);

#endif
