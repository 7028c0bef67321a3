/* One kernel in several shapes, because none is best everywhere, and the driver's own copy and fill. As a rule blocks that each do
 * a little and end (the hardware hands them out in order, and DRAM likes it) beat blocks that stay and stride. */
#include "kernel.h"
#include "measure/ceilings.h"
#include "measure/limit.h"
#include "measure/measure.h"

#include <math.h>
#include <stdio.h>

namespace {

/* Two arrays that begin at multiples of 16 bytes. As much as both have is copied, the rest of the larger read or written: what is
 * read alone behind the copy or, `lead` of it, before. What is written last may still be in L2 when the kernel ends. */
struct Arena {
    char *from, *to;
    size_t read, written, lead; /* bytes */
    int sms;
    cudaStream_t stream;
};

struct Move {
    const char *name;
    Status (*run)(void *context); /* a Arena */
    bool by_driver; /* copies, where as much is read as written, or fills, where nothing is read; else it does something else */
};

enum { THREADS_MAX = 1024, RESIDENT_BLOCKS = 2, RESIDENT_THREADS = 512, RESIDENT_LOADS = 8 };
const unsigned IMPROBABLE = 0x9e3779b9u;

__device__ unsigned mix(uint4 word) {
    return word.x ^ word.y ^ word.z ^ word.w;
}

__device__ unsigned mix(uint2 word) {
    return word.x ^ word.y;
}

__device__ unsigned mix(unsigned word) {
    return word;
}

/* Words are copied while both arrays last; the others are read or written alone. The sum keeps the loads of words that are only
 * read; its store never happens, which the compiler does not know. */
template <typename Word, int PER>
__global__ void __launch_bounds__(THREADS_MAX)
    move_kernel(const Word *from, size_t reads, Word *to, size_t writes, size_t lead, unsigned *sink) {
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
        if (i - lead < writes) /* before the lead it is huge */
            to[i - lead] = words[j];
        else
            sum ^= mix(words[j]);
    }
    if (sum == IMPROBABLE) *sink = sum;
}

/* The same by blocks that stay: what reads most is fastest this way on some devices. */
__global__ void __launch_bounds__(RESIDENT_THREADS)
    resident_kernel(const uint4 *from, size_t reads, uint4 *to, size_t writes, size_t lead, unsigned *sink) {
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
            if (i - lead < writes)
                to[i - lead] = loaded[j];
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
                  reinterpret_cast<Word *>(arena->to), writes, arena->lead / sizeof(Word), reinterpret_cast<unsigned *>(arena->to));
}

Status move_resident(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(resident_kernel, {static_cast<unsigned>(arena->sms * RESIDENT_BLOCKS), RESIDENT_THREADS, 0, arena->stream},
                  reinterpret_cast<const uint4 *>(arena->from), arena->read / sizeof(uint4), reinterpret_cast<uint4 *>(arena->to),
                  arena->written / sizeof(uint4), arena->lead / sizeof(uint4), reinterpret_cast<unsigned *>(arena->to));
}

Status move_by_driver(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    if (arena->read > 0)
        TRY_CUDA(cudaMemcpyAsync(arena->to, arena->from, arena->written, cudaMemcpyDeviceToDevice, arena->stream));
    else
        TRY_CUDA(cudaMemsetAsync(arena->to, 0x3c, arena->written, arena->stream));
    return STATUS_OK;
}

const Move MOVES[] = {
    {"kernel, 1 x 16 bytes per thread, 128 threads", move<uint4, 1, 128>, false},
    {"kernel, 1 x 16 bytes per thread, 256 threads", move<uint4, 1, 256>, false},
    {"kernel, 1 x 16 bytes per thread, 512 threads", move<uint4, 1, 512>, false},
    {"kernel, 4 x 16 bytes per thread, 256 threads", move<uint4, 4, 256>, false},
    {"kernel, 8 x 16 bytes per thread, 256 threads", move<uint4, 8, 256>, false},
    {"kernel, 1 x 8 bytes per thread, 256 threads", move<uint2, 1, 256>, false},
    {"kernel, 1 x 4 bytes per thread, 256 threads", move<unsigned, 1, 256>, false},
    {"kernel, 2 resident blocks of 512 threads per SM", move_resident, false},
    {"cudaMemcpyAsync or cudaMemsetAsync", move_by_driver, true},
};
enum { MOVE_COUNT = sizeof MOVES / sizeof *MOVES };

bool can(const Move *move, const Arena *arena) {
    return !move->by_driver || (arena->written > 0 && (arena->read == arena->written || arena->read == 0));
}

Status launch_nothing(void *context) {
    return launch(empty_kernel, {1, 1, 0, static_cast<const Arena *>(context)->stream});
}

/* One block for both arrays, so that small ones share pages as a variant's may. */
Status open_arena(Arena *arena, size_t read, size_t written) {
    enum { PAGE = 4096 };
    int device = 0;
    void *block = nullptr;
    const size_t to = (read + PAGE - 1) / PAGE * PAGE, all = to + written + PAGE;
    arena->read = read, arena->written = written;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&arena->sms, cudaDevAttrMultiProcessorCount, device));
    const cudaError_t error = cudaMalloc(&block, all);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return status_fail(error == cudaErrorMemoryAllocation ? STATUS_MEMORY : STATUS_DEVICE, "two arrays in %zu bytes: %s", all,
                           cudaGetErrorString(error));
    }
    arena->from = static_cast<char *>(block), arena->to = arena->from + to;
    TRY_CUDA(cudaMemsetAsync(block, 0x3c, all, arena->stream));
    TRY_CUDA(cudaStreamSynchronize(arena->stream));
    return STATUS_OK;
}

/* ---- Peaks: bytes in these ways, multiply-adds in registers, and what a launch takes. */

const size_t BYTES_DEFAULT = (size_t)1 << 30;
const size_t BYTES_UNIT = (size_t)1 << 20;
enum { FMA_THREADS = 256, FMA_BLOCKS_PER_SM = 8, FMA_CHAINS = 8, FMA_STEPS = 8192 };

/* x = x a + b towards a fixed point: no overflow, no denormals. */
template <typename T> __global__ void __launch_bounds__(FMA_THREADS) fma_kernel(T a, T b, T never, T *sink) {
    T x[FMA_CHAINS];
#pragma unroll
    for (int j = 0; j < FMA_CHAINS; j++) x[j] = (T)(threadIdx.x + j);
    for (int i = 0; i < FMA_STEPS; i++) {
#pragma unroll
        for (int j = 0; j < FMA_CHAINS; j++) x[j] = x[j] * a + b;
    }
    T sum = 0;
#pragma unroll
    for (int j = 0; j < FMA_CHAINS; j++) sum += x[j];
    if (sum == never) *sink = sum;
}

template <typename T> Status fma(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(fma_kernel<T>, {(unsigned)(arena->sms * FMA_BLOCKS_PER_SM), FMA_THREADS, 0, arena->stream}, (T)0.999, (T)0.001,
                  (T)-1, reinterpret_cast<T *>(arena->to));
}

struct Timing {
    Mode mode;
    void *stream;
};

Status time_gpu(void *context, const MeasuredWork *work, const SamplingPace *pace, Samples *out) {
    const Timing *timing = static_cast<const Timing *>(context);
    return measure_gpu(timing->mode, work, timing->stream, pace, out);
}

/* The fastest way to read and write so many bytes. */
Status measure_moves(const char *name, const Arena *arrays, size_t read, size_t written, Ceiling *out) {
    Arena arena = *arrays;
    Timing cold = {MODE_COLD, arena.stream};
    CeilingTrial trials[MOVE_COUNT];
    int count = 0;
    arena.read = read, arena.written = written;
    for (const Move &move : MOVES)
        if (can(&move, &arena)) trials[count++] = {move.name, {move.run, &arena}};
    const CeilingTask task = {name, "B/s", (double)(read + written), read + written, time_gpu, &cold, trials, count};
    return ceiling_pick(&task, out);
}

Status measure_all(Arena *arena, size_t bytes, Ceiling *out, int *count) {
    const char *const fma_method = "kernel, 8 chains per thread, 8 blocks of 256 threads per SM";
    const CeilingTrial f32 = {fma_method, {fma<float>, arena}}, f64 = {fma_method, {fma<double>, arena}};
    const CeilingTrial empty = {"events around one empty kernel, L2 flushed before, as cold takes its samples",
                                {launch_nothing, arena}};
    Timing cold = {MODE_COLD, arena->stream}, hot = {MODE_HOT, arena->stream};
    const double flops = 2.0 * (double)((size_t)FMA_CHAINS * FMA_STEPS * FMA_THREADS * FMA_BLOCKS_PER_SM * (size_t)arena->sms);
    const CeilingTask tasks[] = {
        {"fma_f32", "flop/s", flops, 0, time_gpu, &hot, &f32, 1},
        {"fma_f64", "flop/s", flops, 0, time_gpu, &hot, &f64, 1},
        {"empty_launch", "s", 0, 0, time_gpu, &cold, &empty, 1},
    };
    TRY(measure_moves("copy", arena, bytes, bytes, &out[0]));
    TRY(measure_moves("read", arena, bytes, 0, &out[1]));
    TRY(measure_moves("write", arena, 0, bytes, &out[2]));
    *count = 3;
    for (const CeilingTask &task : tasks) {
        TRY(ceiling_pick(&task, &out[*count]));
        ++*count;
    }
    return STATUS_OK;
}

/* What was asked for, but both arrays together at most three quarters of the free memory: the flush needs some as well. */
Status bytes_per_array(size_t hint, size_t *bytes) {
    size_t free_bytes = 0, total_bytes = 0;
    TRY_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    const size_t wanted = hint ? hint : BYTES_DEFAULT, most = free_bytes / 8 * 3;
    *bytes = (wanted < most ? wanted : most) / BYTES_UNIT * BYTES_UNIT;
    if (hint && hint < BYTES_UNIT) *bytes = BYTES_UNIT;
    if (*bytes == 0 || *bytes > most)
        return status_fail(STATUS_MEMORY, "ceilings: %zu bytes of device memory are free, too few to measure with", free_bytes);
    return STATUS_OK;
}

/* ---- The least time to move bytes, in whatever way is fastest. */

const SamplingPace GLANCE = {5, 9, 5e-3}, LOOK = {9, 31, 20e-3};

const Move EMPTY = {"empty kernel", launch_nothing, false};

/* The shortest sample is less than *limit: then it is the limit. */
Status time_trial(Arena *arena, const Move *trial, Mode mode, const SamplingPace *pace, Limit *limit) {
    const MeasuredWork work = {trial->run, arena, nullptr};
    Samples samples;
    TRY(measure_gpu(mode, &work, arena->stream, pace, &samples));
    for (size_t i = 0; i < samples.count; i++) {
        if (samples.seconds[i] >= limit->seconds) continue; /* false while there is none */
        limit->seconds = samples.seconds[i];
        snprintf(limit->kernel, sizeof limit->kernel, "%s%s", trial->name, arena->lead > 0 ? ", reads first" : "");
    }
    samples_free(&samples);
    return STATUS_OK;
}

struct Shape {
    const Move *move; /* NULL: none yet */
    size_t lead;
};

/* The fastest shape of a mode, each looked at for a moment. */
Status fastest(Arena *arena, Mode mode, Shape *best) {
    const size_t alone = arena->read > arena->written ? arena->read - arena->written : 0;
    double least = INFINITY;
    for (int i = 0; i < 2 * MOVE_COUNT; i++) {
        const Move *move = &MOVES[i / 2];
        arena->lead = i % 2 ? alone : 0;
        if (!can(move, arena) || (i % 2 && (alone == 0 || move->by_driver))) continue;
        Limit limit = {INFINITY, ""};
        TRY(time_trial(arena, move, mode, &GLANCE, &limit));
        if (best->move && limit.seconds >= least) continue;
        *best = {move, arena->lead};
        least = limit.seconds;
    }
    return STATUS_OK;
}

/* Host times of a call until it returns have nothing to do with bytes. Warm caches have one fastest shape, whatever the mode. */
Status take_modes(Arena *arena, unsigned modes, Limit out[MEASURE_MODE_COUNT]) {
    Shape cold = {}, warm = {}, empty = {&EMPTY, 0};
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        const Mode mode = static_cast<Mode>(m);
        if (!(modes & 1u << m)) continue;
        Shape *best = mode == MODE_ENQUEUE ? &empty : mode == MODE_COLD ? &cold : &warm;
        if (!best->move) TRY(fastest(arena, mode == MODE_COLD ? MODE_COLD : MODE_HOT, best));
        Limit limit = {INFINITY, ""};
        arena->lead = best->lead;
        TRY(time_trial(arena, best->move, mode, &LOOK, &limit));
        if (best == &warm) { /* a variant may leave more in L2 for its next call than these do; a cold call finds nothing there */
            if (!cold.move) TRY(fastest(arena, MODE_COLD, &cold));
            arena->lead = cold.lead;
            TRY(time_trial(arena, cold.move, MODE_COLD, &LOOK, &limit));
        }
        if (limit.seconds < INFINITY) out[m] = limit;
    }
    return STATUS_OK;
}

} // namespace

Status ceilings_cuda(void *stream, size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count) {
    *count = 0;
    Arena arena = {};
    size_t bytes = 0;
    arena.stream = static_cast<cudaStream_t>(stream);
    TRY(bytes_per_array(bytes_hint, &bytes));
    Status status = open_arena(&arena, bytes, bytes);
    if (status == STATUS_OK) status = measure_all(&arena, bytes, out, count);
    if (arena.from) (void)cudaFree(arena.from);
    return status;
}

Status limit_cuda(void *stream, const LimitTask *task, Limit out[MEASURE_MODE_COUNT]) {
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) out[m] = Limit{NAN, ""};
    Arena arena = {};
    const double bytes = task->read + task->written, scale = bytes > LIMIT_BYTES_MAX ? bytes / LIMIT_BYTES_MAX : 1;
    arena.stream = static_cast<cudaStream_t>(stream);
    Status status = open_arena(&arena, static_cast<size_t>(task->read / scale), static_cast<size_t>(task->written / scale));
    if (status == STATUS_OK) status = take_modes(&arena, task->modes, out);
    if (arena.from) (void)cudaFree(arena.from);
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (m != MODE_ENQUEUE) out[m].seconds *= scale;
    return status;
}
