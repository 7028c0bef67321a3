/* Device memory read and written by one call, by CUPTI's range profiler: hardware counters, which take a permission. */
#include "measure/counted_call.cuh"
#include "measure/counts.h"
#include "measure/range_session.cuh"

#if RUNGS_CUPTI_RANGES
enum { PASSES_MAX = 16 };

/* The device is idle at each end of a range: what is in it is the call's, all of it. */
static Status take_ranges(RangeSession *session, CountedCall *call) {
    TRY(range_session_push(session, RANGE_SETTLE));
    TRY(counted_flush(call));
    TRY(range_session_pop(session));
    TRY(range_session_push(session, RANGE_CALL));
    TRY(counted_run(call));
    TRY(range_session_pop(session));
    TRY(range_session_push(session, RANGE_BEHIND));
    TRY(counted_flush(call));
    return range_session_pop(session);
}

static Status take_pass(RangeSession *session, CountedCall *call, bool *all) {
    TRY(range_session_start(session));
    const Status taken = take_ranges(session, call);
    if (taken != STATUS_OK) return taken; /* closing the session ends the pass */
    TRY(range_session_stop(session, all));
    return counted_put_away(call);
}

static Status count(RangeSession *session, CountedCall *call, ByteCounts *out) {
    bool all = false;
    for (; !all && out->calls < PASSES_MAX; out->calls++) TRY(take_pass(session, call, &all));
    if (!all) return status_fail(STATUS_UNSUPPORTED, "CUPTI: more than %d passes for %d counters", PASSES_MAX, METRIC_COUNT);
    TRY(range_session_evaluate(session));
    out->read = session->values[RANGE_CALL][METRIC_READ];
    out->written = session->values[RANGE_CALL][METRIC_WRITTEN];
    out->written_behind = session->values[RANGE_BEHIND][METRIC_WRITTEN];
    return STATUS_OK;
}

Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out) {
    *out = ByteCounts{};
    const Cupti *cupti = nullptr;
    TRY(cupti_get_ranges(&cupti));
    CountedCall call;
    RangeSession session = {};
    Status status = counted_open(&call, work, stream);
    if (status == STATUS_OK) {
        status = range_session_open(&session, cupti);
        if (status == STATUS_OK) status = count(&session, &call, out);
        range_session_close(&session);
    }
    counted_close(&call);
    return status;
}
#else
Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out) {
    (void)work, (void)stream;
    *out = ByteCounts{};
    const Cupti *cupti = nullptr;
    return cupti_get_ranges(&cupti);
}
#endif
