/* counted_call.cuh - a call as it is counted: warmed up, from cold caches, alone on the device. For .cu files. */
#ifndef RUNGS_MEASURE_COUNTED_CALL_CUH
#define RUNGS_MEASURE_COUNTED_CALL_CUH

#include "kernel.h"
#include "measure/gpu_queue.h"
#include "measure/measure.h"

struct CountedCall {
    const MeasuredWork *work;
    GpuQueue queue;
};

static inline Status counted_wait(const char *what) {
    const cudaError_t waited = cudaDeviceSynchronize();
    if (waited == cudaSuccess) return STATUS_OK;
    return status_fail(STATUS_DEVICE, "%s: %s (%s)", what, cudaGetErrorString(waited), cudaGetErrorName(waited));
}

/* L2 holds nothing of the call then, and no line that is still to be written back. */
static inline Status counted_flush(CountedCall *call) {
    TRY(gpu_queue_flush(&call->queue));
    return counted_wait("flushing the caches");
}

static inline Status counted_run(CountedCall *call) {
    TRY(call->work->run(call->work->context));
    return counted_wait("the counted call");
}

static inline Status counted_put_away(CountedCall *call) {
    return call->work->after ? call->work->after(call->work->context) : STATUS_OK;
}

/* The first call of a process loads kernels and may set things up: that is not the call's own. counted_close() in any case. */
static inline Status counted_open(CountedCall *call, const MeasuredWork *work, void *stream) {
    *call = CountedCall{};
    call->work = work;
    TRY(gpu_queue_open(&call->queue, stream, true));
    TRY(counted_run(call));
    return counted_put_away(call);
}

static inline void counted_close(CountedCall *call) {
    gpu_queue_close(&call->queue);
}

#endif
