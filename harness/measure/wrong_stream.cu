#include "measure/wrong_stream.h"

#include "kernel.h"
#include "measure/gpu_queue.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double HOLD_SECONDS = 2;                   /* a variant that waits for its own stream is let go after this */
static const long WATCH_NANOSECONDS = 20 * 1000 * 1000; /* long enough for a stray kernel to have written something */

/* A copy through a stream that waits for nothing. */
static Status peek(cudaStream_t aside, void *host, const void *memory, size_t bytes) {
    TRY_CUDA(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, aside));
    TRY_CUDA(cudaStreamSynchronize(aside));
    return STATUS_OK;
}

static Status watch(GpuQueue *queue, cudaStream_t aside, Status (*run)(void *), void *context, const void *memory,
                    unsigned char *before, unsigned char *during, size_t bytes, bool *stray) {
    TRY(peek(aside, before, memory, bytes));
    TRY(gpu_queue_hold(queue, HOLD_SECONDS));
    Status status = run(context);
    const struct timespec moment = {0, WATCH_NANOSECONDS};
    nanosleep(&moment, NULL);
    if (status == STATUS_OK) status = peek(aside, during, memory, bytes);
    gpu_queue_release(queue);
    TRY_CUDA(cudaStreamSynchronize(queue->stream));
    TRY_CUDA(cudaDeviceSynchronize()); /* whatever strayed is over before anybody reads on */
    if (status == STATUS_OK && !gpu_queue_timed_out(queue)) *stray = memcmp(before, during, bytes) != 0;
    return status;
}

Status wrong_stream_gpu(Status (*run)(void *), void *context, void *stream, const void *memory, size_t bytes, bool *stray) {
    GpuQueue queue;
    cudaStream_t aside = NULL;
    *stray = false;
    TRY(gpu_queue_open(&queue, stream, false));
    unsigned char *both = static_cast<unsigned char *>(malloc(2 * bytes + 1));
    Status status = both ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory to watch %zu bytes", bytes);
    if (status == STATUS_OK && cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking) != cudaSuccess)
        status = status_fail(STATUS_DEVICE, "no second stream to watch from");
    if (status == STATUS_OK) status = watch(&queue, aside, run, context, memory, both, both + bytes, bytes, stray);
    if (aside) (void)cudaStreamDestroy(aside);
    free(both);
    gpu_queue_close(&queue);
    return status;
}
