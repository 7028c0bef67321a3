/* cupti.cuh - CUPTI's functions, found in its library at run time. For .cu files of this module, where CUPTI's headers are there
 * (RUNGS_CUPTI_ACTIVITY, RUNGS_CUPTI_RANGES). */
#pragma once

#include "kernel.h"
#include "measure/counts.h"
#include "measure/gpu_queue.h"

#if __has_include(<cupti_activity.h>)
#define RUNGS_CUPTI_ACTIVITY 1
#include <cuda.h>
#include <cupti_result.h>
#include <cupti_version.h>

#include <cupti_activity.h>
#else
#define RUNGS_CUPTI_ACTIVITY 0
#endif
#if RUNGS_CUPTI_ACTIVITY && __has_include(<cupti_range_profiler.h>) && __has_include(<cupti_profiler_host.h>)
#define RUNGS_CUPTI_RANGES 1
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#else
#define RUNGS_CUPTI_RANGES 0
#endif

#if RUNGS_CUPTI_ACTIVITY
#define CUPTI_ACTIVITY_FUNCTIONS(X)                                                                                                \
    X(cuptiGetVersion)                                                                                                             \
    X(cuptiGetResultString)                                                                                                        \
    X(cuptiActivityRegisterCallbacks)                                                                                              \
    X(cuptiActivityEnable)                                                                                                         \
    X(cuptiActivityDisable)                                                                                                        \
    X(cuptiActivityFlushAll)                                                                                                       \
    X(cuptiActivityGetNextRecord)                                                                                                  \
    X(cuptiActivityGetNumDroppedRecords)
#else
#define CUPTI_ACTIVITY_FUNCTIONS(X)
#endif

#if RUNGS_CUPTI_RANGES
#define CUPTI_RANGE_FUNCTIONS(X)                                                                                                   \
    X(cuptiProfilerInitialize)                                                                                                     \
    X(cuptiProfilerDeInitialize)                                                                                                   \
    X(cuptiProfilerDeviceSupported)                                                                                                \
    X(cuptiProfilerGetCounterAvailability)                                                                                         \
    X(cuptiDeviceGetChipName)                                                                                                      \
    X(cuptiProfilerHostInitialize)                                                                                                 \
    X(cuptiProfilerHostDeinitialize)                                                                                               \
    X(cuptiProfilerHostConfigAddMetrics)                                                                                           \
    X(cuptiProfilerHostGetConfigImageSize)                                                                                         \
    X(cuptiProfilerHostGetConfigImage)                                                                                             \
    X(cuptiProfilerHostGetNumOfPasses)                                                                                             \
    X(cuptiProfilerHostEvaluateToGpuValues)                                                                                        \
    X(cuptiRangeProfilerEnable)                                                                                                    \
    X(cuptiRangeProfilerDisable)                                                                                                   \
    X(cuptiRangeProfilerGetCounterDataSize)                                                                                        \
    X(cuptiRangeProfilerCounterDataImageInitialize)                                                                                \
    X(cuptiRangeProfilerSetConfig)                                                                                                 \
    X(cuptiRangeProfilerStart)                                                                                                     \
    X(cuptiRangeProfilerStop)                                                                                                      \
    X(cuptiRangeProfilerPushRange)                                                                                                 \
    X(cuptiRangeProfilerPopRange)                                                                                                  \
    X(cuptiRangeProfilerDecodeData)                                                                                                \
    X(cuptiRangeProfilerGetCounterDataInfo)                                                                                        \
    X(cuptiRangeProfilerCounterDataGetRangeInfo)
#else
#define CUPTI_RANGE_FUNCTIONS(X)
#endif

struct Cupti {
    const char *path;          /* of the library */
    const char *missing;       /* the first of the activity functions that it lacks; NULL: none */
    const char *range_missing; /* the same of the range functions */
#define CUPTI_MEMBER(name) decltype(&::name) name;
    CUPTI_ACTIVITY_FUNCTIONS(CUPTI_MEMBER)
    CUPTI_RANGE_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};

/* STATUS_UNSUPPORTED with the reason if it cannot be had. The library stays loaded. */
Status cupti_get(const Cupti **out);
/* ... and has the functions that counting bytes takes. */
Status cupti_get_ranges(const Cupti **out);

#if RUNGS_CUPTI_ACTIVITY
/* A refused call in words, with what to do where that is known. STATUS_UNSUPPORTED where a permission or the device is the reason.
 */
Status cupti_failed(const Cupti *cupti, CUptiResult result, const char *call);

#define TRY_CUPTI(cupti, call)                                                                                                     \
    do {                                                                                                                           \
        const CUptiResult try_cupti_ = (cupti)->call;                                                                              \
        if (try_cupti_ != CUPTI_SUCCESS) return cupti_failed(cupti, try_cupti_, #call);                                            \
    } while (0)
#endif

/* A call as it is counted: warmed up, from cold caches, alone on the device. */
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
