/* What this GPU can do at most. The memory ceilings try several shapes, because none is best everywhere: as a rule blocks that each
 * do a little and end (the hardware hands them out in order, and DRAM likes it) beat blocks that stay and stride. */
#include "kernel.h"
#include "measure/ceiling_pick.h"
#include "measure/measure.h"

namespace {

const size_t BYTES_DEFAULT = (size_t)1 << 30;
const size_t BYTES_UNIT = (size_t)1 << 20; /* every shape below divides it, so no kernel checks bounds */
enum { THREADS_MAX = 1024, FMA_THREADS = 256, FMA_BLOCKS_PER_SM = 8, FMA_CHAINS = 8, FMA_STEPS = 8192 };
const unsigned IMPROBABLE = 0x9e3779b9u;

struct Arena {
    uint4 *from, *to;
    size_t bytes; /* of each */
    int sms;
    cudaStream_t stream;
};

template <int PER> __global__ void __launch_bounds__(THREADS_MAX) copy_kernel(const uint4 *from, uint4 *to) {
    const size_t first = (size_t)blockIdx.x * blockDim.x * PER + threadIdx.x;
    uint4 words[PER];
#pragma unroll
    for (int j = 0; j < PER; j++) words[j] = from[first + (size_t)j * blockDim.x];
#pragma unroll
    for (int j = 0; j < PER; j++) to[first + (size_t)j * blockDim.x] = words[j];
}

template <int PER> __global__ void __launch_bounds__(THREADS_MAX) write_kernel(uint4 *to, unsigned value) {
    const size_t first = (size_t)blockIdx.x * blockDim.x * PER + threadIdx.x;
#pragma unroll
    for (int j = 0; j < PER; j++) to[first + (size_t)j * blockDim.x] = make_uint4(value, value, value, value);
}

__device__ unsigned mix(uint4 word) {
    return word.x ^ word.y ^ word.z ^ word.w;
}

/* The store depends on the data, so the loads stay; the array's pattern never makes it happen. */
template <int PER> __global__ void __launch_bounds__(THREADS_MAX) read_kernel(const uint4 *from, uint4 *sink) {
    const size_t first = (size_t)blockIdx.x * blockDim.x * PER + threadIdx.x;
    unsigned sum = 0;
#pragma unroll
    for (int j = 0; j < PER; j++) sum ^= mix(from[first + (size_t)j * blockDim.x]);
    if (sum == IMPROBABLE) sink->x = sum;
}

/* As many blocks as fit at once, each reading one contiguous part, eight loads in flight per thread. */
__global__ void __launch_bounds__(THREADS_MAX) read_resident_kernel(const uint4 *from, size_t count, uint4 *sink) {
    const size_t step = (size_t)blockDim.x * 8;
    const size_t steps = count / step, begin = steps * blockIdx.x / gridDim.x, end = steps * (blockIdx.x + 1) / gridDim.x;
    unsigned sum = 0;
    for (size_t i = begin; i < end; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++) sum ^= mix(from[i * step + (size_t)j * blockDim.x + threadIdx.x]);
    }
    if (sum == IMPROBABLE) sink->x = sum;
}

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

__global__ void __launch_bounds__(1) empty_kernel() {}

/* The shape of one launch over all of an array. */
template <int PER> LaunchShape cover(const Arena *arena, unsigned threads) {
    return {(unsigned)(arena->bytes / sizeof(uint4) / PER / threads), threads, 0, arena->stream};
}

template <int PER, int THREADS> Status copy(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(copy_kernel<PER>, cover<PER>(arena, THREADS), arena->from, arena->to);
}

Status copy_by_driver(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    TRY_CUDA(cudaMemcpyAsync(arena->to, arena->from, arena->bytes, cudaMemcpyDeviceToDevice, arena->stream));
    return STATUS_OK;
}

template <int PER, int THREADS> Status write(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(write_kernel<PER>, cover<PER>(arena, THREADS), arena->to, 0x3c3c3c3cu);
}

Status write_by_driver(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    TRY_CUDA(cudaMemsetAsync(arena->to, 0x3c, arena->bytes, arena->stream));
    return STATUS_OK;
}

template <int PER, int THREADS> Status read(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(read_kernel<PER>, cover<PER>(arena, THREADS), arena->from, arena->to);
}

template <int BLOCKS_PER_SM, int THREADS> Status read_resident(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(read_resident_kernel, {(unsigned)(arena->sms * BLOCKS_PER_SM), THREADS, 0, arena->stream}, arena->from,
                  arena->bytes / sizeof(uint4), arena->to);
}

template <typename T> Status fma(void *context) {
    const Arena *arena = static_cast<const Arena *>(context);
    return launch(fma_kernel<T>, {(unsigned)(arena->sms * FMA_BLOCKS_PER_SM), FMA_THREADS, 0, arena->stream}, (T)0.999, (T)0.001,
                  (T)-1, reinterpret_cast<T *>(arena->to));
}

Status nothing(void *context) {
    return launch(empty_kernel, {1, 1, 0, static_cast<const Arena *>(context)->stream});
}

struct Timing {
    MeasureMode mode;
    void *stream;
};

Status time_gpu(void *context, const MeasuredWork *work, const MeasureLimits *limits, Samples *out) {
    const Timing *timing = static_cast<const Timing *>(context);
    return measure_gpu(timing->mode, work, timing->stream, limits, out);
}

#define COUNT_OF(table) ((int)(sizeof(table) / sizeof *(table)))

Status measure_all(Arena *arena, Ceiling *out, int *count) {
    const CeilingTrial copies[] = {
        {"cudaMemcpyAsync, device to device", {copy_by_driver, arena}},
        {"kernel, 1 x 16 bytes per thread, 128 threads", {copy<1, 128>, arena}},
        {"kernel, 1 x 16 bytes per thread, 256 threads", {copy<1, 256>, arena}},
        {"kernel, 1 x 16 bytes per thread, 512 threads", {copy<1, 512>, arena}},
        {"kernel, 4 x 16 bytes per thread, 128 threads", {copy<4, 128>, arena}},
        {"kernel, 4 x 16 bytes per thread, 256 threads", {copy<4, 256>, arena}},
    };
    const CeilingTrial reads[] = {
        {"kernel, 1 x 16 bytes per thread, 256 threads", {read<1, 256>, arena}},
        {"kernel, 4 x 16 bytes per thread, 128 threads", {read<4, 128>, arena}},
        {"kernel, 4 x 16 bytes per thread, 256 threads", {read<4, 256>, arena}},
        {"kernel, 8 x 16 bytes per thread, 256 threads", {read<8, 256>, arena}},
        {"kernel, 8 x 16 bytes per thread, 512 threads", {read<8, 512>, arena}},
        {"kernel, 2 resident blocks of 256 threads per SM", {read_resident<2, 256>, arena}},
        {"kernel, 2 resident blocks of 512 threads per SM", {read_resident<2, 512>, arena}},
        {"kernel, 4 resident blocks of 256 threads per SM", {read_resident<4, 256>, arena}},
    };
    const CeilingTrial writes[] = {
        {"cudaMemsetAsync", {write_by_driver, arena}},
        {"kernel, 1 x 16 bytes per thread, 128 threads", {write<1, 128>, arena}},
        {"kernel, 1 x 16 bytes per thread, 256 threads", {write<1, 256>, arena}},
        {"kernel, 4 x 16 bytes per thread, 256 threads", {write<4, 256>, arena}},
    };
    const CeilingTrial f32[] = {{"kernel, 8 chains per thread, 8 blocks of 256 threads per SM", {fma<float>, arena}}};
    const CeilingTrial f64[] = {{"kernel, 8 chains per thread, 8 blocks of 256 threads per SM", {fma<double>, arena}}};
    const CeilingTrial empty[] = {
        {"events around one empty kernel, L2 flushed before, as cold takes its samples", {nothing, arena}}};
    const CeilingTrial replay[] = {{"replay of a graph of one empty kernel, back to back", {nothing, arena}}};

    Timing cold = {MEASURE_COLD, arena->stream}, hot = {MEASURE_HOT, arena->stream}, graph = {MEASURE_GRAPH, arena->stream};
    const double bytes = (double)arena->bytes;
    const double flops = 2.0 * (double)((size_t)FMA_CHAINS * FMA_STEPS * FMA_THREADS * FMA_BLOCKS_PER_SM * (size_t)arena->sms);
    const CeilingTask tasks[] = {
        {"copy", "B/s", 2 * bytes, 2 * arena->bytes, time_gpu, &cold, copies, COUNT_OF(copies)},
        {"read", "B/s", bytes, arena->bytes, time_gpu, &cold, reads, COUNT_OF(reads)},
        {"write", "B/s", bytes, arena->bytes, time_gpu, &cold, writes, COUNT_OF(writes)},
        {"fma_f32", "flop/s", flops, 0, time_gpu, &hot, f32, COUNT_OF(f32)},
        {"fma_f64", "flop/s", flops, 0, time_gpu, &hot, f64, COUNT_OF(f64)},
        {"empty_launch", "s", 0, 0, time_gpu, &cold, empty, COUNT_OF(empty)},
        {"empty_graph", "s", 0, 0, time_gpu, &graph, replay, COUNT_OF(replay)},
    };
    for (int i = 0; i < COUNT_OF(tasks); i++, (*count)++) TRY(ceiling_pick(&tasks[i], &out[*count]));
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

Status open_arena(Arena *arena, size_t bytes_hint) {
    int device = 0;
    void *from = nullptr, *to = nullptr;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&arena->sms, cudaDevAttrMultiProcessorCount, device));
    TRY(bytes_per_array(bytes_hint, &arena->bytes));
    TRY_CUDA(cudaMalloc(&from, arena->bytes));
    arena->from = static_cast<uint4 *>(from);
    TRY_CUDA(cudaMalloc(&to, arena->bytes));
    arena->to = static_cast<uint4 *>(to);
    TRY_CUDA(cudaMemsetAsync(from, 0x3c, arena->bytes, arena->stream));
    TRY_CUDA(cudaMemsetAsync(to, 0x3c, arena->bytes, arena->stream));
    TRY_CUDA(cudaStreamSynchronize(arena->stream));
    return STATUS_OK;
}

} // namespace

Status ceilings_cuda(void *stream, size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count) {
    *count = 0;
    Arena arena = {};
    arena.stream = static_cast<cudaStream_t>(stream);
    Status status = open_arena(&arena, bytes_hint);
    if (status == STATUS_OK) status = measure_all(&arena, out, count);
    if (arena.from) (void)cudaFree(arena.from);
    if (arena.to) (void)cudaFree(arena.to);
    return status;
}
