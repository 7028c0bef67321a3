/* Kernels with one bug each in asynchronous copies and in the order of cuda::atomic. The right twins: clean_copies.cu. */
#include "kernel.h"
#include "selftest.h"

#include <cuda/atomic>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

enum { THREADS = 64 };

/* BUG: read before the wait, by the copying thread itself. */
static __global__ void read_early(int *from, int *to) {
    __shared__ int copy[THREADS];
    copy[threadIdx.x] = 0;
    __pipeline_memcpy_async(&copy[threadIdx.x], &from[threadIdx.x], sizeof(int));
    __pipeline_commit();
    to[threadIdx.x] = copy[threadIdx.x];
    __pipeline_wait_prior(0);
}

/* BUG: the group that is read is the one that need not be done. */
static __global__ void wait_for_too_few(int *from, int *to) {
    __shared__ int copy[2][THREADS];
    for (int i = 0; i < 2; i++) {
        copy[i][threadIdx.x] = 0;
        __pipeline_memcpy_async(&copy[i][threadIdx.x], &from[threadIdx.x], sizeof(int));
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    to[threadIdx.x] = copy[1][threadIdx.x];
}

/* BUG: waited for, but no barrier before another thread reads. */
static __global__ void no_barrier(int *from, int *to) {
    __shared__ int copy[THREADS];
    __pipeline_memcpy_async(&copy[threadIdx.x], &from[threadIdx.x], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    to[threadIdx.x] = copy[THREADS - 1 - threadIdx.x];
}

/* BUG: the source is overwritten while it may still be read. */
static __global__ void write_source(int *from, int *to) {
    __shared__ int copy[THREADS];
    __pipeline_memcpy_async(&copy[threadIdx.x], &from[threadIdx.x], sizeof(int));
    __pipeline_commit();
    from[threadIdx.x] = -1;
    __pipeline_wait_prior(0);
    to[threadIdx.x] = copy[threadIdx.x];
}

/* BUG: the thread has arrived, but not waited. */
static __global__ void touch_after_arrival(int *from, int *to) {
    __shared__ cuda::barrier<cuda::thread_scope_block> end;
    __shared__ int copy[THREADS];
    copy[threadIdx.x] = 0;
    if (threadIdx.x == 0) init(&end, THREADS);
    __syncthreads();
    cuda::memcpy_async(&copy[threadIdx.x], &from[threadIdx.x], sizeof(int), end);
    auto arrival = end.arrive();
    to[threadIdx.x] = copy[threadIdx.x];
    end.wait(static_cast<decltype(arrival) &&>(arrival));
}

/* BUG: a stage is filled again before its readers have released it. */
static __global__ void no_acquire(int *from, int *to) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    __shared__ int stage[THREADS];
    auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state);
    for (int i = 0; i < 2; i++) {
        cuda::memcpy_async(&stage[threadIdx.x], &from[threadIdx.x], sizeof(int), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        to[threadIdx.x] = stage[THREADS - 1 - threadIdx.x];
        pipe.consumer_release();
    }
}

/* BUG: the release is another variable's. */
static __global__ void other_release(int *from, int *to) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(from[0]), other(from[1]);
    if (threadIdx.x == 0) {
        to[0] = 1;
        other.store(1, cuda::memory_order_release);
        flag.store(-1, cuda::memory_order_relaxed);
    } else if (threadIdx.x == 32) {
        while (flag.load(cuda::memory_order_acquire) != -1) {}
        to[1] = to[0];
    }
}

template <void (*kernel)(int *, int *)> static Status run(const Device *device) {
    int host[THREADS], *from, *to;
    for (int i = 0; i < THREADS; i++) host[i] = i + 1;
    TRY(make_array(device, host, THREADS, &from));
    TRY(make_array(device, host, THREADS, &to));
    TRY(launch(kernel, {1, THREADS, 0, device->stream()}, from, to));
    return expect_equal(device, to, host, THREADS, "copies");
}

extern "C" const SelfTest BUGS_COPIES[] = {
    {"asynchronous copy read early", run<read_early>, {WRONG, WRONG, "data race"}},
    {"asynchronous copy: too few groups", run<wait_for_too_few>, {WRONG, WRONG, "data race"}},
    {"asynchronous copy without a barrier", run<no_barrier>, {NULL, NULL, "data race"}, "barrier if another thread is meant"},
    {"asynchronous copy: source overwritten", run<write_source>, {NULL, NULL, "data race"}, "asynchronous copy"},
    {"asynchronous copy touched after the arrival", run<touch_after_arrival>, {NULL, NULL, "data race"}, "asynchronous copy"},
    {"pipeline without an acquire", run<no_acquire>, {NULL, NULL, "data race"}, "asynchronous copy"},
    {"release of another variable", run<other_release>, {NULL, NULL, "data race"}},
    {NULL, NULL, {}},
};
