/* wrong_stream.h - does a variant work on the stream it was given? Block that stream, run the variant, and watch its output. */
#ifndef RUNGS_MEASURE_WRONG_STREAM_H
#define RUNGS_MEASURE_WRONG_STREAM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Queues a blocking kernel on `stream`, calls run, waits a moment, and compares `bytes` of device memory with what they were.
 * *stray: they changed while the stream stood still. A run that waits for its own stream is let go by the blocker's time-out;
 * nothing is concluded then. On return the stream is idle. */
Status wrong_stream_gpu(Status (*run)(void *context), void *context, void *stream, const void *memory, size_t bytes, bool *stray);

#ifdef __cplusplus
}
#endif
#endif
