/* log.h - a worker's stdout and stderr, in a file without a name; quoted if the worker fails. */
#ifndef RUNGS_DEVICE_LOG_H
#define RUNGS_DEVICE_LOG_H

#include <sys/types.h>

enum { LOG_QUOTE_MAX = 1501 };

/* What a row should quote of the log from byte `begin` on: its end, or, where a checker reported, the report from its headline on.
 */
void log_quote(int log, off_t begin, char quote[LOG_QUOTE_MAX]);

#endif
