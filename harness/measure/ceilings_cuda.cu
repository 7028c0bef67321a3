/* What this GPU can do at most: bytes in the ways of moves_cuda.cu, multiply-adds in registers, and what a launch takes. */
#include "measure/ceiling_pick.h"
#include "measure/measure.h"
#include "measure/moves_cuda.cuh"

namespace {

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
    const MoveArena *arena = static_cast<const MoveArena *>(context);
    return launch(fma_kernel<T>, {(unsigned)(arena->sms * FMA_BLOCKS_PER_SM), FMA_THREADS, 0, arena->stream}, (T)0.999, (T)0.001,
                  (T)-1, reinterpret_cast<T *>(arena->to));
}

struct Timing {
    MeasureMode mode;
    void *stream;
};

Status time_gpu(void *context, const MeasuredWork *work, const MeasureLimits *limits, Samples *out) {
    const Timing *timing = static_cast<const Timing *>(context);
    return measure_gpu(timing->mode, work, timing->stream, limits, out);
}

/* The fastest way to read and write so many bytes. */
Status measure_moves(const char *name, const MoveArena *arrays, size_t read, size_t written, Ceiling *out) {
    MoveArena arena = *arrays;
    Timing cold = {MEASURE_COLD, arena.stream};
    CeilingTrial trials[MOVE_GPU_COUNT];
    int count = 0;
    arena.read = read, arena.written = written;
    for (const MoveGpu &move : MOVES_GPU)
        if (move_gpu_can(&move, &arena)) trials[count++] = {move.name, {move.run, &arena}};
    const CeilingTask task = {name, "B/s", (double)(read + written), read + written, time_gpu, &cold, trials, count};
    return ceiling_pick(&task, out);
}

Status measure_all(MoveArena *arena, size_t bytes, Ceiling *out, int *count) {
    const char *const fma_method = "kernel, 8 chains per thread, 8 blocks of 256 threads per SM";
    const CeilingTrial f32 = {fma_method, {fma<float>, arena}}, f64 = {fma_method, {fma<double>, arena}};
    const CeilingTrial empty = {"events around one empty kernel, L2 flushed before, as cold takes its samples",
                                {move_gpu_nothing, arena}};
    Timing cold = {MEASURE_COLD, arena->stream}, hot = {MEASURE_HOT, arena->stream};
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

Status open_arena(MoveArena *arena, size_t bytes) {
    int device = 0;
    void *from = nullptr, *to = nullptr;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&arena->sms, cudaDevAttrMultiProcessorCount, device));
    TRY_CUDA(cudaMalloc(&from, bytes));
    arena->from = static_cast<char *>(from);
    TRY_CUDA(cudaMalloc(&to, bytes));
    arena->to = static_cast<char *>(to);
    TRY_CUDA(cudaMemsetAsync(from, 0x3c, bytes, arena->stream));
    TRY_CUDA(cudaMemsetAsync(to, 0x3c, bytes, arena->stream));
    TRY_CUDA(cudaStreamSynchronize(arena->stream));
    return STATUS_OK;
}

} // namespace

Status ceilings_cuda(void *stream, size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count) {
    *count = 0;
    MoveArena arena = {};
    size_t bytes = 0;
    arena.stream = static_cast<cudaStream_t>(stream);
    TRY(bytes_per_array(bytes_hint, &bytes));
    Status status = open_arena(&arena, bytes);
    if (status == STATUS_OK) status = measure_all(&arena, bytes, out, count);
    if (arena.from) (void)cudaFree(arena.from);
    if (arena.to) (void)cudaFree(arena.to);
    return status;
}
