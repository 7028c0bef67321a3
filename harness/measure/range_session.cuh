/* range_session.cuh - CUPTI's range profiler, set up to count device memory read and written in three ranges of one pass. For .cu
 * files of this module. */
#ifndef RUNGS_MEASURE_RANGE_SESSION_CUH
#define RUNGS_MEASURE_RANGE_SESSION_CUH

#include "measure/cupti.cuh"

#include <stddef.h>
#include <stdint.h>

#if RUNGS_CUPTI_RANGES
enum { METRIC_READ, METRIC_WRITTEN, METRIC_COUNT };
/* A flush, which writes back what the profiler itself wrote at the pass's start (4.5 MiB on an H200) and is not told; the call; and
 * the flush after it: that only reads, so that what is written during it are lines that the call left in L2. */
enum { RANGE_SETTLE, RANGE_CALL, RANGE_BEHIND, RANGE_COUNT };

struct Image {
    uint8_t *bytes;
    size_t size;
};

struct RangeSession {
    const Cupti *cupti;
    CUcontext context;
    bool initialized;
    CUpti_Profiler_Host_Object *host;
    CUpti_RangeProfiler_Object *profiler;
    Image availability, config, counters;
    double values[RANGE_COUNT][METRIC_COUNT];
};

/* In the current context; close() accepts a half-opened session. */
Status range_session_open(RangeSession *session, const Cupti *cupti);
void range_session_close(RangeSession *session);
/* A pass is between start and stop; `all`: it was the last that the counters need. */
Status range_session_start(RangeSession *session);
Status range_session_push(RangeSession *session, int range);
Status range_session_pop(RangeSession *session);
Status range_session_stop(RangeSession *session, bool *all);
/* After the last pass: fills in values. */
Status range_session_evaluate(RangeSession *session);
#endif

#endif
