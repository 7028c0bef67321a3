/* gpu_queue.h - what is queued around the work on a GPU stream so that its time is its own: a blocking kernel ahead of it, an L2
 * flush, and stamps that tell the SM clock. For .cu files. */
#pragma once

#include "base/status.h"

#include <cuda_runtime.h>

struct GpuStamp {
    long long cycles;               /* clock64 */
    unsigned long long arrived;     /* globaltimer, when it came to its turn */
    unsigned long long nanoseconds; /* globaltimer, read at the edge of a tick */
    unsigned sm;
};

/* Pinned host memory that the blocking kernel polls; both hold tickets, so that nothing needs resetting between samples. */
struct GpuGate {
    unsigned released;
    unsigned timed_out;
    unsigned whole;
    unsigned long long let_go; /* globaltimer, when the hold ended */
};

struct GpuQueue {
    cudaStream_t stream;
    volatile GpuGate *gate;
    GpuGate *gate_on_device;
    unsigned *blocks_held; /* on the device: how many, and the ticket that lets them go */
    unsigned ticket;
    double usual_seconds; /* from the end of a hold to the stamp behind it, where nothing comes between */
    void *flush;          /* NULL: no flush was asked for */
    size_t flush_bytes;
    bool l2_can_persist;
    GpuStamp *stamps;         /* two, on the device */
    GpuStamp *stamps_on_host; /* pinned */
};

enum GpuStampPlace { GPU_STAMP_BEFORE, GPU_STAMP_AFTER };

/* with_flush reserves device memory of several times L2: STATUS_MEMORY if there is none. close() accepts a half-opened queue. */
Status gpu_queue_open(GpuQueue *queue, void *stream, bool with_flush);
void gpu_queue_close(GpuQueue *queue);

/* Enqueues a kernel that keeps the stream busy until gpu_queue_release(), but for at most `timeout_seconds`: work that waits for
 * the device inside its call would otherwise wait for ever. */
Status gpu_queue_hold(GpuQueue *queue, double timeout_seconds);
/* The same with every thread of every processor, so that no other stream's kernel runs either; returns when they are all there.
 * *whole: they are; false: some did not get their place within a moment, because something else runs. */
Status gpu_queue_hold_device(GpuQueue *queue, double timeout_seconds, bool *whole);
/* Did the stamp right behind the hold come later than it does, because the processors went to another stream's work first? Valid
 * once the stream has been waited for. */
bool gpu_queue_late(const GpuQueue *queue);
void gpu_queue_release(GpuQueue *queue);
/* Did the last hold end by its time-out? Valid once the stream has been waited for. */
bool gpu_queue_timed_out(const GpuQueue *queue);

/* Makes lines that a variant keeps in L2 as persisting ones normal again: reading other memory does not evict those. At once, not
 * in the order of the stream. */
Status gpu_queue_unpin(const GpuQueue *queue);
/* Enqueues a pass over the flush buffer. It only reads: a flush that wrote would leave dirty lines for the measured work to write
 * back. */
Status gpu_queue_flush(GpuQueue *queue);
/* Enqueues a stamp; that of GPU_STAMP_AFTER waits until the two are far enough apart to tell a clock from. */
Status gpu_queue_stamp(GpuQueue *queue, GpuStampPlace place);
/* From the first stamp to when the second came to its turn, by the device's timer. Valid once the stream has been waited for. */
double gpu_queue_seconds(const GpuQueue *queue);
/* SM clock between the stamps; NaN unless both ran on the same SM. Valid once the stream has been waited for. */
double gpu_queue_mhz(const GpuQueue *queue);
