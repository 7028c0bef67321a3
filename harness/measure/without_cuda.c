/* The GPU functions of this module in a build without CUDA. */
#include "measure/ceilings.h"
#include "measure/counts.h"
#include "measure/limit.h"

#ifndef RUNGS_WITH_CUDA
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define WITHOUT_CUDA(name, ...)                                                                                                    \
    Status name(__VA_ARGS__) {                                                                                                     \
        return status_fail(STATUS_UNSUPPORTED, "built without CUDA");                                                              \
    }
WITHOUT_CUDA(measure_gpu, Mode mode, const MeasuredWork *work, void *stream, const SamplingPace *pace, Samples *out)
WITHOUT_CUDA(measure_gpu_calls, const MeasuredWork *work, size_t calls, void *stream, double *seconds)
WITHOUT_CUDA(patches_make, Patches *self, const Rewriting *inputs, int in_count, const Spoiling *spoiling, size_t states,
             void *stream)
WITHOUT_CUDA(patches_enqueue, const Patches *self, size_t state, bool called, void *stream)
WITHOUT_CUDA(patches_left, const Patches *self, void *stream, const void **element)
void patches_free(Patches *self) {}
WITHOUT_CUDA(ceilings_cuda, void *stream, size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count)
WITHOUT_CUDA(limit_cuda, void *stream, const LimitTask *task, Limit out[MEASURE_MODE_COUNT])
WITHOUT_CUDA(wrong_stream_gpu, Status (*run)(void *), void *context, void *stream, const Array *outputs, int count,
             unsigned char poison, bool *stray)
WITHOUT_CUDA(disturb_gpu, uint64_t random, double call_seconds)
void disturb_gpu_end(void) {}
WITHOUT_CUDA(move_gpu, void *to, const void *from, size_t bytes)
WITHOUT_CUDA(fill_gpu, void *to, int byte, size_t bytes)
WITHOUT_CUDA(wait_gpu, void)
WITHOUT_CUDA(free_gpu, size_t *bytes)
WITHOUT_CUDA(counts_activity, const MeasuredWork *work, void *stream, ActivityList *out)
WITHOUT_CUDA(counts_bytes, const MeasuredWork *work, void *stream, ByteCounts *out)
WITHOUT_CUDA(counts_try_activity, void *stream)
WITHOUT_CUDA(counts_try_bytes, void *stream)
WITHOUT_CUDA(counts_library, const char **path)
#else
typedef int rungs_with_cuda;
#endif
