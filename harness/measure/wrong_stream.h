/* wrong_stream.h - does a variant work on the stream it was given? Block that stream, run the variant, and watch its output. */
#ifndef RUNGS_MEASURE_WRONG_STREAM_H
#define RUNGS_MEASURE_WRONG_STREAM_H

#include "base/array.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The outputs are on the device and every byte of them is `poison`. Queues a blocking kernel on `stream`, calls run, waits a
 * moment, and looks for bytes that are not poison any more. *stray: there are some, although the stream stood still. `stream` must
 * not wait for the legacy default stream (cudaStreamNonBlocking). A run that waits for its own stream is let go by the blocker's
 * time-out; nothing is concluded then. On return the device is idle. */
Status wrong_stream_gpu(Status (*run)(void *context), void *context, void *stream, const Array *outputs, int count,
                        unsigned char poison, bool *stray);

#ifdef __cplusplus
}
#endif
#endif
