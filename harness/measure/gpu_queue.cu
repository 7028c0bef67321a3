#include "measure/gpu_queue.h"

#include "base/clock.h"
#include "kernel.h"

#include <math.h>
#include <string.h>

enum { FLUSH_THREADS = 256, FLUSH_BLOCKS_PER_SM = 8 };
/* Replacement in L2 is not least-recently-used: a pass of twice its size can leave a seventh of it behind, one of four times 2%. */
static const size_t FLUSH_TIMES_L2 = 4, FLUSH_TIMES_L2_MIN = 2;
enum { HOLD_BLOCKS_PER_SM = 2, HOLD_THREADS_MAX = 1024 };
enum { TIMES_USUAL = 5 };
static const double LATE_TIMES_USUAL = 2, LATE_SECONDS = 1e-6;
static const double WHOLE_SECONDS = 0.02; /* for the blocks of a hold to get their places, once it is its turn */
static const size_t L2_BYTES_GUESS = (size_t)64 << 20;
/* Stamps are read at ticks of globaltimer, within some tens of nanoseconds: over 20 us that is well below 1%. */
static const unsigned long long STAMP_NANOSECONDS_MIN = 20000;
static const long long TICK_CYCLES_MAX = 1000000; /* a timer that does not tick for so long is not waited for */

static __device__ unsigned long long global_nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

static __device__ unsigned sm_index() {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

static __device__ void rest() {
#if __CUDA_ARCH__ >= 700
    __nanosleep(100);
#endif
}

/* The first block asks the host, the others ask the first. */
static __global__ void __launch_bounds__(HOLD_THREADS_MAX, HOLD_BLOCKS_PER_SM)
    hold_kernel(volatile GpuGate *gate, unsigned ticket, unsigned long long timeout, unsigned *blocks_held) {
    volatile unsigned *held = &blocks_held[0], *let_go = &blocks_held[1];
    if (threadIdx.x == 0) {
        const unsigned long long begin = global_nanoseconds();
        bool whole = false;
        (void)atomicAdd(&blocks_held[0], 1);
        while (blockIdx.x == 0 && gate->released != ticket) {
            if (!whole && *held == gridDim.x) gate->whole = ticket, whole = true;
            if (global_nanoseconds() - begin >= timeout) {
                gate->timed_out = ticket;
                break;
            }
            rest();
        }
        if (blockIdx.x == 0) {
            gate->let_go = global_nanoseconds();
            *let_go = ticket;
        }
        while (*let_go != ticket) rest();
        __threadfence_system();
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(1) stamp_kernel(GpuStamp *stamp, const GpuStamp *since, unsigned long long least) {
    stamp->arrived = global_nanoseconds();
    if (since)
        while (global_nanoseconds() - since->nanoseconds < least) continue;
    const unsigned long long before = global_nanoseconds();
    const long long patience = clock64() + TICK_CYCLES_MAX;
    unsigned long long now = before;
    while (now == before && clock64() < patience) now = global_nanoseconds();
    stamp->cycles = clock64();
    stamp->nanoseconds = now;
    stamp->sm = sm_index();
}

static __global__ void __launch_bounds__(FLUSH_THREADS) flush_kernel(const uint4 *words, size_t count, unsigned *sink) {
    unsigned sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        const uint4 word = words[i];
        sum += word.x + word.y + word.z + word.w;
    }
    if (sum == 0x9e3779b9u) *sink = sum; /* never: the buffer is all zeros, which the compiler does not know */
}

static Status allocate_flush(GpuQueue *queue) {
    int device = 0, l2 = 0;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    const size_t l2_bytes = l2 > 0 ? (size_t)l2 : L2_BYTES_GUESS;
    for (size_t times = FLUSH_TIMES_L2; times >= FLUSH_TIMES_L2_MIN && !queue->flush; times /= 2) {
        queue->flush_bytes = times * l2_bytes;
        const cudaError_t error = cudaMalloc(&queue->flush, queue->flush_bytes);
        if (error == cudaSuccess) break;
        queue->flush = nullptr;
        (void)cudaGetLastError();
        if (error != cudaErrorMemoryAllocation)
            return status_fail(STATUS_DEVICE, "cudaMalloc: %s (%s)", cudaGetErrorString(error), cudaGetErrorName(error));
    }
    if (!queue->flush) return status_fail(STATUS_MEMORY, "no device memory for the %zu bytes that flush L2", queue->flush_bytes);
    TRY_CUDA(cudaMemsetAsync(queue->flush, 0, queue->flush_bytes, queue->stream));
    return STATUS_OK;
}

static double seconds_to_stamp(const GpuQueue *queue) {
    return 1e-9 * ((double)queue->stamps_on_host[GPU_STAMP_BEFORE].arrived - (double)queue->gate->let_go);
}

/* Every kernel runs once before it counts: loading one while the blocking kernel runs could wait for that kernel's end. */
static Status warm_up(GpuQueue *queue) {
    TRY(gpu_queue_hold(queue, 0));
    if (queue->flush) TRY(gpu_queue_flush(queue));
    TRY(gpu_queue_stamp(queue, GPU_STAMP_BEFORE));
    TRY(gpu_queue_stamp(queue, GPU_STAMP_AFTER));
    TRY_CUDA(cudaStreamSynchronize(queue->stream));
    queue->usual_seconds = INFINITY;
    for (int i = 0; i < TIMES_USUAL; i++) {
        bool whole;
        TRY(gpu_queue_hold_device(queue, 1, &whole));
        TRY(gpu_queue_stamp(queue, GPU_STAMP_BEFORE));
        TRY(gpu_queue_stamp(queue, GPU_STAMP_AFTER));
        gpu_queue_release(queue);
        TRY_CUDA(cudaStreamSynchronize(queue->stream));
        queue->usual_seconds = fmin(queue->usual_seconds, seconds_to_stamp(queue));
    }
    return STATUS_OK;
}

static Status open_parts(GpuQueue *queue, bool with_flush) {
    void *gate = nullptr, *gate_on_device = nullptr, *blocks_held = nullptr, *stamps = nullptr, *stamps_on_host = nullptr;
    TRY_CUDA(cudaHostAlloc(&gate, sizeof(GpuGate), cudaHostAllocMapped));
    memset(gate, 0, sizeof(GpuGate));
    queue->gate = static_cast<volatile GpuGate *>(gate);
    TRY_CUDA(cudaHostGetDevicePointer(&gate_on_device, gate, 0));
    queue->gate_on_device = static_cast<GpuGate *>(gate_on_device);
    TRY_CUDA(cudaMalloc(&blocks_held, 2 * sizeof(unsigned)));
    queue->blocks_held = static_cast<unsigned *>(blocks_held);
    TRY_CUDA(cudaMemsetAsync(blocks_held, 0, 2 * sizeof(unsigned), queue->stream));
    TRY_CUDA(cudaMalloc(&stamps, 2 * sizeof(GpuStamp)));
    queue->stamps = static_cast<GpuStamp *>(stamps);
    TRY_CUDA(cudaHostAlloc(&stamps_on_host, 2 * sizeof(GpuStamp), cudaHostAllocDefault));
    queue->stamps_on_host = static_cast<GpuStamp *>(stamps_on_host);
    if (with_flush) TRY(allocate_flush(queue));
    return warm_up(queue);
}

static Status find_persisting(GpuQueue *queue) {
    int device = 0, bytes = 0;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxPersistingL2CacheSize, device));
    queue->l2_can_persist = bytes > 0;
    return STATUS_OK;
}

Status gpu_queue_open(GpuQueue *queue, void *stream, bool with_flush) {
    *queue = GpuQueue{};
    queue->stream = static_cast<cudaStream_t>(stream);
    TRY(find_persisting(queue));
    const Status status = open_parts(queue, with_flush);
    if (status != STATUS_OK) gpu_queue_close(queue);
    return status;
}

/* Nothing to report here: the work's own faults were noticed when its stream was waited for. */
void gpu_queue_close(GpuQueue *queue) {
    if (queue->flush) (void)cudaFree(queue->flush);
    if (queue->blocks_held) (void)cudaFree(queue->blocks_held);
    if (queue->stamps) (void)cudaFree(queue->stamps);
    if (queue->stamps_on_host) (void)cudaFreeHost(queue->stamps_on_host);
    if (queue->gate) (void)cudaFreeHost(const_cast<GpuGate *>(queue->gate));
    *queue = GpuQueue{};
}

static Status hold(GpuQueue *queue, unsigned blocks, unsigned threads, double timeout_seconds) {
    queue->ticket++;
    TRY_CUDA(cudaMemsetAsync(queue->blocks_held, 0, sizeof(unsigned), queue->stream));
    return launch(hold_kernel, {blocks, threads, 0, queue->stream}, queue->gate_on_device, queue->ticket,
                  static_cast<unsigned long long>(timeout_seconds * 1e9), queue->blocks_held);
}

Status gpu_queue_hold(GpuQueue *queue, double timeout_seconds) {
    return hold(queue, 1, 1, timeout_seconds);
}

Status gpu_queue_hold_device(GpuQueue *queue, double timeout_seconds, bool *whole) {
    int device = 0, sms = 0, threads = 0;
    *whole = false;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    TRY_CUDA(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    TRY_CUDA(cudaStreamSynchronize(queue->stream));
    TRY(hold(queue, static_cast<unsigned>(sms) * HOLD_BLOCKS_PER_SM, static_cast<unsigned>(threads) / HOLD_BLOCKS_PER_SM,
             timeout_seconds));
    const double begin = clock_seconds();
    while (!*whole && !gpu_queue_timed_out(queue) && clock_seconds() - begin < WHOLE_SECONDS)
        *whole = queue->gate->whole == queue->ticket;
    return STATUS_OK;
}

bool gpu_queue_late(const GpuQueue *queue) {
    return seconds_to_stamp(queue) > LATE_TIMES_USUAL * queue->usual_seconds + LATE_SECONDS;
}

void gpu_queue_release(GpuQueue *queue) {
    queue->gate->released = queue->ticket;
}

bool gpu_queue_timed_out(const GpuQueue *queue) {
    return queue->ticket != 0 && queue->gate->timed_out == queue->ticket;
}

Status gpu_queue_unpin(const GpuQueue *queue) {
    if (queue->l2_can_persist) TRY_CUDA(cudaCtxResetPersistingL2Cache());
    return STATUS_OK;
}

Status gpu_queue_flush(GpuQueue *queue) {
    int device = 0, sms = 0;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    const unsigned blocks = static_cast<unsigned>(sms) * FLUSH_BLOCKS_PER_SM;
    return launch(flush_kernel, {blocks, FLUSH_THREADS, 0, queue->stream}, static_cast<const uint4 *>(queue->flush),
                  queue->flush_bytes / sizeof(uint4), &queue->stamps[0].sm);
}

Status gpu_queue_stamp(GpuQueue *queue, GpuStampPlace place) {
    const GpuStamp *since = place == GPU_STAMP_AFTER ? &queue->stamps[GPU_STAMP_BEFORE] : nullptr;
    TRY(launch(stamp_kernel, {1, 1, 0, queue->stream}, &queue->stamps[place], since, STAMP_NANOSECONDS_MIN));
    if (place == GPU_STAMP_AFTER)
        TRY_CUDA(
            cudaMemcpyAsync(queue->stamps_on_host, queue->stamps, 2 * sizeof(GpuStamp), cudaMemcpyDeviceToHost, queue->stream));
    return STATUS_OK;
}

double gpu_queue_seconds(const GpuQueue *queue) {
    const GpuStamp *stamps = queue->stamps_on_host;
    return 1e-9 * static_cast<double>(stamps[GPU_STAMP_AFTER].arrived - stamps[GPU_STAMP_BEFORE].nanoseconds);
}

double gpu_queue_mhz(const GpuQueue *queue) {
    const GpuStamp *before = &queue->stamps_on_host[GPU_STAMP_BEFORE], *after = &queue->stamps_on_host[GPU_STAMP_AFTER];
    if (before->sm != after->sm || after->nanoseconds <= before->nanoseconds || after->cycles <= before->cycles) return NAN;
    const double nanoseconds = static_cast<double>(after->nanoseconds - before->nanoseconds);
    return 1e3 * static_cast<double>(after->cycles - before->cycles) / nanoseconds;
}
