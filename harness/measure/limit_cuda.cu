/* The least time to move bytes on a GPU: one kernel in several shapes, and the driver's own copy and fill. */
#include "kernel.h"
#include "measure/limit.h"

#include <math.h>
#include <stdio.h>

namespace {

enum { THREADS_MAX = 1024, RESIDENT_BLOCKS = 2, RESIDENT_THREADS = 512, RESIDENT_LOADS = 8, PAGE = 4096 };
const unsigned IMPROBABLE = 0x9e3779b9u;
const MeasureLimits GLANCE = {5, 9, 5e-3}, LOOK = {9, 31, 20e-3};

struct Arena {
    char *from, *to;
    size_t read, written; /* bytes of the part that is measured */
    int sms;
    cudaStream_t stream;
};

__device__ unsigned mix(uint4 word) {
    return word.x ^ word.y ^ word.z ^ word.w;
}

__device__ unsigned mix(uint2 word) {
    return word.x ^ word.y;
}

__device__ unsigned mix(unsigned word) {
    return word;
}

/* Word i is copied while both arrays last; then it is read or written alone. The sum keeps the loads of words that are only read;
 * its store never happens, which the compiler does not know. */
template <typename Word, int PER>
__global__ void __launch_bounds__(THREADS_MAX)
    move_kernel(const Word *from, size_t reads, Word *to, size_t writes, unsigned *sink) {
    const size_t first = (size_t)blockIdx.x * blockDim.x * PER + threadIdx.x;
    Word words[PER];
    unsigned sum = 0;
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const size_t i = first + (size_t)j * blockDim.x;
        words[j] = i < reads ? from[i] : Word{};
    }
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const size_t i = first + (size_t)j * blockDim.x;
        if (i < writes)
            to[i] = words[j];
        else
            sum ^= mix(words[j]);
    }
    if (sum == IMPROBABLE) *sink = sum;
}

/* The same by blocks that stay: what reads most is fastest this way on some devices. */
__global__ void __launch_bounds__(RESIDENT_THREADS)
    resident_kernel(const uint4 *from, size_t reads, uint4 *to, size_t writes, unsigned *sink) {
    const size_t words = reads > writes ? reads : writes, step = (size_t)blockDim.x * RESIDENT_LOADS;
    const size_t steps = (words + step - 1) / step, begin = steps * blockIdx.x / gridDim.x,
                 end = steps * (blockIdx.x + 1) / gridDim.x;
    unsigned sum = 0;
    for (size_t s = begin; s < end; s++) {
        uint4 loaded[RESIDENT_LOADS];
#pragma unroll
        for (int j = 0; j < RESIDENT_LOADS; j++) {
            const size_t i = s * step + (size_t)j * blockDim.x + threadIdx.x;
            loaded[j] = i < reads ? from[i] : uint4{};
        }
#pragma unroll
        for (int j = 0; j < RESIDENT_LOADS; j++) {
            const size_t i = s * step + (size_t)j * blockDim.x + threadIdx.x;
            if (i < writes)
                to[i] = loaded[j];
            else
                sum ^= mix(loaded[j]);
        }
    }
    if (sum == IMPROBABLE) *sink = sum;
}

__global__ void __launch_bounds__(1) empty_kernel() {}

template <typename Word, int PER, int THREADS> Status move(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    const size_t reads = arena->read / sizeof(Word), writes = arena->written / sizeof(Word);
    const size_t words = reads > writes ? reads : writes, each = (size_t)PER * THREADS;
    const unsigned blocks = words > each ? static_cast<unsigned>((words + each - 1) / each) : 1;
    return launch(move_kernel<Word, PER>, {blocks, THREADS, 0, arena->stream}, reinterpret_cast<const Word *>(arena->from), reads,
                  reinterpret_cast<Word *>(arena->to), writes, reinterpret_cast<unsigned *>(arena->to));
}

Status move_resident(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(resident_kernel, {static_cast<unsigned>(arena->sms * RESIDENT_BLOCKS), RESIDENT_THREADS, 0, arena->stream},
                  reinterpret_cast<const uint4 *>(arena->from), arena->read / sizeof(uint4), reinterpret_cast<uint4 *>(arena->to),
                  arena->written / sizeof(uint4), reinterpret_cast<unsigned *>(arena->to));
}

/* The larger of the two is not what it does: only for as much in as out, or nothing in. */
Status move_by_driver(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    if (arena->read > 0)
        TRY_CUDA(cudaMemcpyAsync(arena->to, arena->from, arena->written, cudaMemcpyDeviceToDevice, arena->stream));
    else
        TRY_CUDA(cudaMemsetAsync(arena->to, 0x3c, arena->written, arena->stream));
    return STATUS_OK;
}

Status nothing(void *context) {
    return launch(empty_kernel, {1, 1, 0, static_cast<const Arena *>(context)->stream});
}

struct Trial {
    const char *name;
    Status (*run)(void *context);
};

const Trial TRIALS[] = {
    {"kernel, 1 x 16 bytes per thread, 128 threads", move<uint4, 1, 128>},
    {"kernel, 1 x 16 bytes per thread, 256 threads", move<uint4, 1, 256>},
    {"kernel, 1 x 16 bytes per thread, 512 threads", move<uint4, 1, 512>},
    {"kernel, 4 x 16 bytes per thread, 256 threads", move<uint4, 4, 256>},
    {"kernel, 8 x 16 bytes per thread, 256 threads", move<uint4, 8, 256>},
    {"kernel, 1 x 8 bytes per thread, 256 threads", move<uint2, 1, 256>},
    {"kernel, 1 x 4 bytes per thread, 256 threads", move<unsigned, 1, 256>},
    {"kernel, 2 resident blocks of 512 threads per SM", move_resident},
    {"cudaMemcpyAsync or cudaMemsetAsync", move_by_driver},
};
enum { TRIAL_COUNT = sizeof TRIALS / sizeof *TRIALS, TRIAL_DRIVER = TRIAL_COUNT - 1 };
const Trial EMPTY = {"empty kernel", nothing};

/* The shortest sample is less than *limit: then it is the limit. */
Status time_trial(Arena *arena, const Trial *trial, MeasureMode mode, const MeasureLimits *limits, Limit *limit) {
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
Status fastest(Arena *arena, MeasureMode mode, const Trial **best) {
    double least = INFINITY;
    for (int i = 0; i < TRIAL_COUNT; i++) {
        const bool driver_can = arena->written > 0 && (arena->read == arena->written || arena->read == 0);
        if (i == TRIAL_DRIVER && !driver_can) continue;
        Limit limit = {INFINITY, ""};
        TRY(time_trial(arena, &TRIALS[i], mode, &GLANCE, &limit));
        if (*best && limit.seconds >= least) continue;
        *best = &TRIALS[i];
        least = limit.seconds;
    }
    return STATUS_OK;
}

/* Host times of a call until it returns have nothing to do with bytes. Warm caches have one fastest shape, whatever the mode. */
Status take_modes(Arena *arena, unsigned modes, Limit out[MEASURE_MODE_COUNT]) {
    const Trial *cold = nullptr, *warm = nullptr;
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        const MeasureMode mode = static_cast<MeasureMode>(m);
        if (!(modes & 1u << m)) continue;
        const Trial **best = mode == MEASURE_COLD ? &cold : &warm;
        if (mode != MEASURE_ENQUEUE && !*best) TRY(fastest(arena, mode == MEASURE_COLD ? MEASURE_COLD : MEASURE_HOT, best));
        Limit limit = {INFINITY, ""};
        TRY(time_trial(arena, mode == MEASURE_ENQUEUE ? &EMPTY : *best, mode, &LOOK, &limit));
        if (limit.seconds < INFINITY) out[m] = limit;
    }
    return STATUS_OK;
}

/* One block for both, so that small arrays share pages as a variant's may. */
Status open_arena(Arena *arena, const LimitTask *task, double *scale) {
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
    Arena arena = {};
    double scale = 1;
    arena.stream = static_cast<cudaStream_t>(stream);
    Status status = open_arena(&arena, task, &scale);
    if (status == STATUS_OK) status = take_modes(&arena, task->modes, out);
    if (arena.from) (void)cudaFree(arena.from);
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (m != MEASURE_ENQUEUE) out[m].seconds *= scale;
    return status;
}
