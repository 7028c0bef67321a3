/* Asynchronous copies that are waited for, and cuda::atomic as an object. */
#include "kernel.h"
#include "selftest.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#ifdef __NVCC__
#pragma nv_diag_suppress 20054 /* barriers in shared memory have constructors that do nothing */
#endif

enum { THREADS = 64, STAGES = 4 };

/* Two stages under way: each is read by other threads after the wait and a barrier. */
static __global__ void copy_in_stages(const int *from, int *to) {
    __shared__ int stage[2][THREADS];
    const unsigned i = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][i], &from[i], sizeof(int));
    __pipeline_commit();
    for (int s = 0; s < STAGES; s++) {
        if (s + 1 < STAGES) __pipeline_memcpy_async(&stage[(s + 1) % 2][i], &from[(s + 1) * THREADS + i], sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        to[s * THREADS + i] = stage[s % 2][THREADS - 1 - i];
        __syncthreads();
    }
}

/* The copy's last bytes are zeros; its own thread reads after the wait alone. */
static __global__ void copy_with_zeros(const int *from, int *to) {
    __shared__ int2 mine[THREADS];
    const unsigned i = threadIdx.x;
    __pipeline_memcpy_async(&mine[i], &from[2 * i], sizeof(int2), sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    to[2 * i] = mine[i].x;
    to[2 * i + 1] = mine[i].y;
}

static __global__ void copy_together(const int *from, int *to) {
    __shared__ int all[STAGES * THREADS];
    const cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(block, all, from, sizeof all);
    cooperative_groups::wait(block);
    for (int i = (int)threadIdx.x; i < STAGES * THREADS; i += THREADS) to[i] = all[STAGES * THREADS - 1 - i];
}

/* Two stages of a block's pipeline: what others copied is read after consumer_wait() alone. */
static __global__ void copy_by_pipeline(const int *from, int *to) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int stage[2][THREADS];
    auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state);
    const unsigned i = threadIdx.x;
    for (int copied = 0, s = 0; s < STAGES; s++) {
        for (; copied < STAGES && copied < s + 2; copied++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[copied % 2][i], &from[copied * THREADS + i], sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        to[s * THREADS + i] = stage[s % 2][THREADS - 1 - i];
        pipe.consumer_release();
    }
}

/* A copy that a barrier waits for, and a thread's own pipeline for the second half. */
static __global__ void copy_by_barrier(const int *from, int *to) {
    __shared__ cuda::barrier<cuda::thread_scope_block> whole;
    __shared__ int all[STAGES * THREADS];
    const unsigned i = threadIdx.x, half = STAGES * THREADS / 2;
    if (i == 0) init(&whole, THREADS);
    __syncthreads();
    cuda::memcpy_async(cooperative_groups::this_thread_block(), all, from, half * sizeof(int), whole);
    auto own = cuda::make_pipeline();
    own.producer_acquire();
    for (unsigned at = half + i; at < 2 * half; at += THREADS) cuda::memcpy_async(&all[at], &from[at], sizeof(int), own);
    own.producer_commit();
    own.consumer_wait();
    own.consumer_release();
    whole.arrive_and_wait();
    for (unsigned at = i; at < 2 * half; at += THREADS) to[at] = all[2 * half - 1 - at];
}

/* A lock of cuda::atomic, for the block, around a plain sum. */
static __global__ void sum_under_lock(const int *from, int *to) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> lock, arrived;
    __shared__ int sum;
    if (threadIdx.x == 0) {
        lock = 0;
        arrived = 0;
        sum = 0;
    }
    __syncthreads();
    int open = 0;
    while (!lock.compare_exchange_weak(open, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed)) open = 0;
    sum += from[threadIdx.x];
    lock.store(0, cuda::memory_order_release);
    if (arrived.fetch_add(1) == THREADS - 1) to[0] = sum;
}

static Status check(const Device *device, void (*kernel)(const int *, int *), int (*wanted)(int), int n) {
    int from[STAGES * THREADS], expected[STAGES * THREADS], *in, *out;
    for (int i = 0; i < STAGES * THREADS; i++) from[i] = 3 * i + 1, expected[i] = wanted(i);
    TRY(make_array(device, from, STAGES * THREADS, &in));
    TRY(make_array<int>(device, NULL, STAGES * THREADS, &out));
    TRY(launch(kernel, {1, THREADS, 0, device->stream()}, (const int *)in, out));
    return expect_equal(device, out, expected, (size_t)n, "copies");
}

static int reversed_in_stage(int i) {
    return 3 * (i / THREADS * THREADS + THREADS - 1 - i % THREADS) + 1;
}
static int or_zero(int i) {
    return i % 2 ? 0 : 3 * i + 1;
}
static int reversed(int i) {
    return 3 * (STAGES * THREADS - 1 - i) + 1;
}
static int sum_of_all(int) {
    return 3 * THREADS * (THREADS - 1) / 2 + THREADS;
}

static Status run_stages(const Device *device) {
    return check(device, copy_in_stages, reversed_in_stage, STAGES * THREADS);
}
static Status run_zeros(const Device *device) {
    return check(device, copy_with_zeros, or_zero, 2 * THREADS);
}
static Status run_together(const Device *device) {
    return check(device, copy_together, reversed, STAGES * THREADS);
}
static Status run_pipeline(const Device *device) {
    return check(device, copy_by_pipeline, reversed_in_stage, STAGES * THREADS);
}
static Status run_barrier(const Device *device) {
    return check(device, copy_by_barrier, reversed, STAGES * THREADS);
}
static Status run_lock(const Device *device) {
    return check(device, sum_under_lock, sum_of_all, 1);
}

extern "C" const SelfTest CLEAN_COPIES[] = {
    {"asynchronous copies in stages", run_stages, {}},
    {"asynchronous copy with zeros", run_zeros, {}},
    {"asynchronous copy by a group", run_together, {}},
    {"copies of a pipeline", run_pipeline, {}},
    {"copy that a barrier waits for", run_barrier, {}},
    {"lock of cuda::atomic", run_lock, {}},
    {NULL, NULL, {}},
};
