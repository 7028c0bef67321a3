/* The GPU functions of this module in a build without CUDA. */
#include "measure/ceilings.h"
#include "measure/counts.h"
#include "measure/limit.h"
#include "measure/measure.h"
#include "measure/wrong_stream.h"

#ifndef RUNGS_WITH_CUDA

Status measure_gpu(MeasureMode mode, const MeasuredWork *work, void *stream, const MeasureLimits *limits, Samples *out) {
    (void)mode, (void)work, (void)stream, (void)limits;
    *out = (Samples){.calls_per_sample = 1};
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status ceilings_cuda(void *stream, size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count) {
    (void)stream, (void)bytes_hint, (void)out;
    *count = 0;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status limit_cuda(void *stream, const LimitTask *task, Limit out[MEASURE_MODE_COUNT]) {
    (void)stream, (void)task, (void)out;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status wrong_stream_gpu(Status (*run)(void *), void *context, void *stream, const Array *outputs, int count, unsigned char poison,
                        bool *stray) {
    (void)run, (void)context, (void)stream, (void)outputs, (void)count, (void)poison;
    *stray = false;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status counts_activity(const MeasuredWork *work, void *stream, bool ranges, ActivityList *out) {
    (void)work, (void)stream, (void)ranges;
    *out = (ActivityList){0};
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out) {
    (void)work, (void)stream;
    *out = (ByteCounts){0};
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status counts_try_activity(void *stream) {
    (void)stream;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status counts_try_bytes(void *stream) {
    (void)stream;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

Status counts_library(const char **path) {
    *path = NULL;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

#else
typedef int rungs_with_cuda;
#endif
