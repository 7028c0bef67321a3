/* Kernels with one bug each in how threads wait for each other. */
#include "kernel.h"
#include "selftest.h"

enum { N = 1024, THREADS = 128, BLOCKS = N / THREADS };

static Status make_ramp(const Device *device, unsigned **out) {
    unsigned x[N];
    for (unsigned i = 0; i < N; i++) x[i] = i % 97 + 1;
    return make_array(device, x, N, out);
}

/* BUG: no barrier between writing `to` and reading it as `from`. */
static __global__ void scan_without_barrier(const unsigned *x, unsigned *y) {
    DYN_SHARED(unsigned, buffers);
    unsigned *from = buffers, *to = buffers + THREADS;
    from[threadIdx.x] = x[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    for (unsigned distance = 1; distance < THREADS; distance *= 2) {
        to[threadIdx.x] = from[threadIdx.x] + (threadIdx.x >= distance ? from[threadIdx.x - distance] : 0);
        unsigned *const swap = from;
        from = to;
        to = swap;
    }
    y[blockIdx.x * THREADS + threadIdx.x] = from[threadIdx.x];
}

static Status run_scan_without_barrier(const Device *device) {
    unsigned expected[N], *in, *out;
    for (unsigned i = 0; i < N; i++) expected[i] = i % 97 + 1 + (i % THREADS ? expected[i - 1] : 0);
    TRY(make_ramp(device, &in));
    TRY(make_array<unsigned>(device, NULL, N, &out));
    TRY(launch(scan_without_barrier, {BLOCKS, THREADS, 2 * THREADS * sizeof(unsigned), device->stream()}, (const unsigned *)in,
               out));
    return expect_equal(device, out, expected, N, "scan_without_barrier");
}

/* BUG: no barrier between the steps. */
static __global__ void reduction_without_barrier(const unsigned *x, unsigned *sums) {
    __shared__ unsigned partial[THREADS];
    partial[threadIdx.x] = x[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2)
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

static Status run_reduction_without_barrier(const Device *device) {
    unsigned expected[BLOCKS] = {0}, *in, *out;
    for (unsigned i = 0; i < N; i++) expected[i / THREADS] += i % 97 + 1;
    TRY(make_ramp(device, &in));
    TRY(make_array<unsigned>(device, NULL, BLOCKS, &out));
    TRY(launch(reduction_without_barrier, {BLOCKS, THREADS, 0, device->stream()}, (const unsigned *)in, out));
    return expect_equal(device, out, expected, BLOCKS, "reduction_without_barrier");
}

/* BUG: lanes of a warp do not run in step. */
static __global__ void exchange_without_syncwarp(int *out) {
    __shared__ int values[32];
    values[threadIdx.x] = (int)threadIdx.x;
    out[threadIdx.x] = values[31 - threadIdx.x];
}

static Status run_exchange_without_syncwarp(const Device *device) {
    int expected[32], *out;
    for (int i = 0; i < 32; i++) expected[i] = 31 - i;
    TRY(make_array<int>(device, NULL, 32, &out));
    TRY(launch(exchange_without_syncwarp, {1, 32, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 32, "exchange_without_syncwarp");
}

/* A running sum over blocks. BUG (each by a parameter): waits for blockIdx - 1 instead of taking a ticket; publishes without a
 * fence, or with one that reaches its own block only; reads without a fence. */
enum { BY_BLOCK_INDEX = 1, NO_FENCE_BEFORE = 2, BLOCK_FENCE_BEFORE = 4, NO_FENCE_AFTER = 8 };

static __global__ void chained_sum(int bug, unsigned *ticket, volatile int *flags, int *sums) {
    if (threadIdx.x > 0) return;
    const unsigned tile = bug == BY_BLOCK_INDEX ? blockIdx.x : atomicAdd(ticket, 1u);
    int before = 0;
    if (tile > 0) {
        while (!flags[tile - 1]) {}
        if (bug != NO_FENCE_AFTER) __threadfence();
        before = sums[tile - 1];
    }
    sums[tile] = before + (int)tile;
    if (bug == BLOCK_FENCE_BEFORE)
        __threadfence_block();
    else if (bug != NO_FENCE_BEFORE)
        __threadfence();
    flags[tile] = 1;
}

static Status run_chained_sum(const Device *device, int bug) {
    enum { CHAIN = 40 };
    int zero[CHAIN] = {0}, expected[CHAIN], *flags, *sums;
    unsigned *ticket;
    for (int i = 0; i < CHAIN; i++) expected[i] = i * (i + 1) / 2;
    TRY(make_array(device, (const unsigned *)zero, 1, &ticket));
    TRY(make_array(device, zero, CHAIN, &flags));
    TRY(make_array<int>(device, NULL, CHAIN, &sums));
    TRY(launch(chained_sum, {CHAIN, 32, 0, device->stream()}, bug, ticket, (volatile int *)flags, sums));
    return expect_equal(device, sums, expected, CHAIN, "chained_sum");
}

static Status run_by_block_index(const Device *device) {
    return run_chained_sum(device, BY_BLOCK_INDEX);
}
static Status run_no_fence_before(const Device *device) {
    return run_chained_sum(device, NO_FENCE_BEFORE);
}
static Status run_block_fence_before(const Device *device) {
    return run_chained_sum(device, BLOCK_FENCE_BEFORE);
}
static Status run_no_fence_after(const Device *device) {
    return run_chained_sum(device, NO_FENCE_AFTER);
}

/* BUG: all blocks write one element; they happen to write the same. */
static __global__ void same_value(int *out) {
    if (threadIdx.x == 0) out[0] = 7;
}

static Status run_same_value(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, 1, &out));
    return launch(same_value, {2, 32, 0, device->stream()}, out);
}

/* BUG: an atomic and a plain write meet. */
static __global__ void mixed_writes(int *out) {
    if (threadIdx.x == 5)
        out[0] = 1;
    else
        atomicAdd(&out[0], 1);
}

static Status run_mixed_writes(const Device *device) {
    const int zero = 0;
    int *out;
    TRY(make_array(device, &zero, 1, &out));
    return launch(mixed_writes, {1, 32, 0, device->stream()}, out);
}

/* BUG: a barrier in each branch. */
static __global__ void divergent_barrier(int *out) {
    if (threadIdx.x < 40) {
        __syncthreads();
        out[threadIdx.x] = 1;
    } else {
        __syncthreads();
        out[threadIdx.x] = 2;
    }
}

static Status run_divergent_barrier(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, THREADS, &out));
    return launch(divergent_barrier, {1, THREADS, 0, device->stream()}, out);
}

/* BUG: a barrier that half of the block never comes to, as it goes on to the next one. */
static __global__ void skipped_barrier(int *out) {
    if (threadIdx.x < 64) __syncthreads();
    out[threadIdx.x] = 1;
    __syncthreads();
}

static Status run_skipped_barrier(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, THREADS, &out));
    return launch(skipped_barrier, {1, THREADS, 0, device->stream()}, out);
}

/* BUG: lane 0 waits for the block, the rest of its warp for lane 0. */
static __global__ void deadlock(int *out) {
    if (threadIdx.x == 0) __syncthreads();
    __syncwarp();
    out[threadIdx.x] = 1;
}

static Status run_deadlock(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, 32, &out));
    return launch(deadlock, {1, 32, 0, device->stream()}, out);
}

/* BUG: waits for a flag that nobody raises. */
static __global__ void endless_wait(volatile int *flag) {
    while (!*flag) __nanosleep(10);
}

static Status run_endless_wait(const Device *device) {
    const int zero = 0;
    int *flag;
    TRY(make_array(device, &zero, 1, &flag));
    return launch(endless_wait, {1, 32, 0, device->stream()}, (volatile int *)flag);
}

/* BUG: half of the callers are not in the mask they give. */
static __global__ void wrong_mask(int *out) {
    out[threadIdx.x] = __shfl_sync(0x0000ffffu, (int)threadIdx.x, 0);
}

static Status run_wrong_mask(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, 32, &out));
    return launch(wrong_mask, {1, 32, 0, device->stream()}, out);
}

/* BUG: the mask names half of the warp, the shuffle reads from the other half. */
static __global__ void absent_lane(int *out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(0x0000ffffu, (int)threadIdx.x, 8);
}

static Status run_absent_lane(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, 32, &out));
    return launch(absent_lane, {1, 32, 0, device->stream()}, out);
}

/* BUG: the two halves of one mask vote in different places. */
static __global__ void divergent_vote(unsigned *out) {
    if (threadIdx.x < 16) {
        out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
    } else {
        out[threadIdx.x] = __ballot_sync(0xffffffffu, 0);
    }
}

static Status run_divergent_vote(const Device *device) {
    unsigned *out;
    TRY(make_array<unsigned>(device, NULL, 32, &out));
    return launch(divergent_vote, {1, 32, 0, device->stream()}, out);
}

extern "C" const SelfTest BUGS_SYNC[] = {
    {"block scan without a barrier", run_scan_without_barrier, {WRONG, WRONG, "data race"}},
    {"tree reduction without a barrier", run_reduction_without_barrier, {WRONG, WRONG, "data race"}},
    {"exchange without __syncwarp", run_exchange_without_syncwarp, {WRONG, WRONG, "data race"}},
    {"look-back by blockIdx", run_by_block_index, {"livelock", "livelock", "livelock"}},
    {"no fence before the flag", run_no_fence_before, {NULL, NULL, "data race"}},
    {"fence of the block before a flag for others", run_block_fence_before, {NULL, NULL, "data race"}},
    {"no fence after the flag", run_no_fence_after, {NULL, NULL, "data race"}},
    {"same value from two blocks", run_same_value, {NULL, NULL, "same-value race"}},
    {"atomic and plain writes", run_mixed_writes, {NULL, NULL, "data race"}},
    {"barrier in both branches",
     run_divergent_barrier,
     {"barrier in divergent code", "barrier in divergent code", "barrier in divergent code"}},
    {"skipped barrier",
     run_skipped_barrier,
     {"barrier in divergent code", "barrier in divergent code", "barrier in divergent code"}},
    {"deadlock", run_deadlock, {"deadlock", "deadlock", "deadlock"}},
    {"endless wait", run_endless_wait, {"livelock", "livelock", "livelock"}},
    {"wrong mask", run_wrong_mask, {"wrong mask", "wrong mask", "wrong mask"}},
    {"absent lane", run_absent_lane, {"shuffle from an absent lane", "shuffle from an absent lane", "shuffle from an absent lane"}},
    {"vote in both branches",
     run_divergent_vote,
     {"warp operation in divergent code", "warp operation in divergent code", "warp operation in divergent code"}},
    {NULL, NULL, {}},
};
