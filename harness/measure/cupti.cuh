/* cupti.cuh - CUPTI's functions, found in its library at run time. For .cu files of this module, where CUPTI's headers are there
 * (RUNGS_CUPTI_ACTIVITY, RUNGS_CUPTI_RANGES). */
#ifndef RUNGS_MEASURE_CUPTI_CUH
#define RUNGS_MEASURE_CUPTI_CUH

#include "base/status.h"

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

#endif
