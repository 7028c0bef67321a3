/* The least time to move bytes on a GPU, in whatever way is fastest. */
#include "measure/limit.h"
#include "measure/moves_cuda.cuh"

#include <math.h>
#include <stdio.h>

namespace {

enum { PAGE = 4096 };
const MeasureLimits GLANCE = {5, 9, 5e-3}, LOOK = {9, 31, 20e-3};

const MoveGpu EMPTY = {"empty kernel", move_gpu_nothing, false};

/* The shortest sample is less than *limit: then it is the limit. */
Status time_trial(MoveArena *arena, const MoveGpu *trial, MeasureMode mode, const MeasureLimits *limits, Limit *limit) {
    const MeasuredWork work = {trial->run, arena, nullptr};
    Samples samples;
    TRY(measure_gpu(mode, &work, arena->stream, limits, &samples));
    for (size_t i = 0; i < samples.count; i++) {
        if (samples.seconds[i] >= limit->seconds) continue; /* false while there is none */
        limit->seconds = samples.seconds[i];
        snprintf(limit->kernel, sizeof limit->kernel, "%s", trial->name);
    }
    samples_free(&samples);
    return STATUS_OK;
}

/* The fastest shape of a mode, each looked at for a moment. */
Status fastest(MoveArena *arena, MeasureMode mode, const MoveGpu **best) {
    double least = INFINITY;
    for (int i = 0; i < MOVE_GPU_COUNT; i++) {
        if (!move_gpu_can(&MOVES_GPU[i], arena)) continue;
        Limit limit = {INFINITY, ""};
        TRY(time_trial(arena, &MOVES_GPU[i], mode, &GLANCE, &limit));
        if (*best && limit.seconds >= least) continue;
        *best = &MOVES_GPU[i];
        least = limit.seconds;
    }
    return STATUS_OK;
}

/* Host times of a call until it returns have nothing to do with bytes. Warm caches have one fastest shape, whatever the mode. */
Status take_modes(MoveArena *arena, unsigned modes, Limit out[MEASURE_MODE_COUNT]) {
    const MoveGpu *cold = nullptr, *warm = nullptr;
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        const MeasureMode mode = static_cast<MeasureMode>(m);
        if (!(modes & 1u << m)) continue;
        const MoveGpu **best = mode == MEASURE_COLD ? &cold : &warm;
        if (mode != MEASURE_ENQUEUE && !*best) TRY(fastest(arena, mode == MEASURE_COLD ? MEASURE_COLD : MEASURE_HOT, best));
        Limit limit = {INFINITY, ""};
        TRY(time_trial(arena, mode == MEASURE_ENQUEUE ? &EMPTY : *best, mode, &LOOK, &limit));
        if (limit.seconds < INFINITY) out[m] = limit;
    }
    return STATUS_OK;
}

/* One block for both, so that small arrays share pages as a variant's may. */
Status open_arena(MoveArena *arena, const LimitTask *task, double *scale) {
    int device = 0;
    const double bytes = task->read + task->written;
    *scale = bytes > LIMIT_BYTES_MAX ? bytes / LIMIT_BYTES_MAX : 1;
    arena->read = static_cast<size_t>(task->read / *scale), arena->written = static_cast<size_t>(task->written / *scale);
    const size_t to = (arena->read + PAGE - 1) / PAGE * PAGE, all = to + arena->written + PAGE;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&arena->sms, cudaDevAttrMultiProcessorCount, device));
    void *block = nullptr;
    const cudaError_t error = cudaMalloc(&block, all);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return status_fail(error == cudaErrorMemoryAllocation ? STATUS_MEMORY : STATUS_DEVICE, "limit: %zu bytes: %s", all,
                           cudaGetErrorString(error));
    }
    arena->from = static_cast<char *>(block), arena->to = arena->from + to;
    TRY_CUDA(cudaMemsetAsync(block, 0x3c, all, arena->stream));
    TRY_CUDA(cudaStreamSynchronize(arena->stream));
    return STATUS_OK;
}

} // namespace

Status limit_cuda(void *stream, const LimitTask *task, Limit out[MEASURE_MODE_COUNT]) {
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) out[m] = Limit{NAN, ""};
    MoveArena arena = {};
    double scale = 1;
    arena.stream = static_cast<cudaStream_t>(stream);
    Status status = open_arena(&arena, task, &scale);
    if (status == STATUS_OK) status = take_modes(&arena, task->modes, out);
    if (arena.from) (void)cudaFree(arena.from);
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (m != MEASURE_ENQUEUE) out[m].seconds *= scale;
    return status;
}
