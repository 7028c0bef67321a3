/* Clean kernels of scopes, of __device__ variables and of flags that many blocks update. The buggy twins: bugs_scopes.cu. */
#include "kernel.h"
#include "selftest.h"

enum { BLOCKS = 6, THREADS = 32, ROUNDS = 8 };

static Status make_zeros(const Device *device, int n, int **out) {
    const int zero[64] = {0};
    return make_array(device, zero, (size_t)n, out);
}

/* Each block counts for itself, then for all. */
static __global__ void count_by_scope(int *own, int *all) {
    atomicAdd_block(&own[blockIdx.x], 1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(all, own[blockIdx.x]);
    atomicAdd_system(all + 1, 1);
}

static Status run_count_by_scope(const Device *device) {
    const int expected[2] = {BLOCKS * THREADS, BLOCKS * THREADS};
    int *words;
    TRY(make_zeros(device, 64, &words));
    TRY(launch(count_by_scope, {BLOCKS, THREADS, 0, device->stream()}, words + 2, words));
    return expect_equal(device, words, expected, 2, "count_by_scope");
}

static __device__ int guard, guarded, counter, last[BLOCKS];

/* Plain data behind a lock, and a count, all in __device__ variables. */
static __global__ void lock_in_variable(int *out) {
    if (threadIdx.x > 0) return;
    while (atomicCAS(&guard, 0, 1) != 0) {}
    __threadfence();
    guarded += 2;
    last[blockIdx.x] = guarded;
    __threadfence();
    atomicExch(&guard, 0);
    __threadfence();
    if (atomicAdd(&counter, 1) == BLOCKS - 1) {
        __threadfence();
        *out = guarded;
        guarded = counter = 0;
    }
}

static Status run_lock_in_variable(const Device *device) {
    const int expected = 2 * BLOCKS;
    int *out;
    TRY(make_zeros(device, 1, &out));
    for (int launches = 0; launches < 3; launches++) TRY(launch(lock_in_variable, {BLOCKS, THREADS, 0, device->stream()}, out));
    return expect_equal(device, out, &expected, 1, "lock_in_variable");
}

/* A block hands data from one of its threads to another with its own fences, on a flag that every other block updates meanwhile:
 * each bit is a block's, and an update of one leaves the others as they are. */
static __global__ void shared_flags(unsigned *flags, int *data, int *out) {
    const unsigned bit = 1u << blockIdx.x;
    for (int round = 0; round < ROUNDS; round++) {
        if (threadIdx.x == 0) {
            data[blockIdx.x] = round + 1;
            __threadfence_block();
            atomicXor(flags, bit);
            while (atomicOr(flags, 0u) & bit) {}
            __threadfence_block();
        } else if (threadIdx.x == 32) {
            while (!(atomicOr(flags, 0u) & bit)) {}
            __threadfence_block();
            out[blockIdx.x] += data[blockIdx.x];
            __threadfence_block();
            atomicXor(flags, bit);
        }
    }
}

static Status run_shared_flags(const Device *device) {
    int expected[4], *data, *out;
    unsigned zero = 0, *flags;
    for (int i = 0; i < 4; i++) expected[i] = ROUNDS * (ROUNDS + 1) / 2;
    TRY(make_array(device, &zero, 1, &flags));
    TRY(make_zeros(device, 8, &data));
    TRY(make_zeros(device, 8, &out));
    TRY(launch(shared_flags, {4, 64, 0, device->stream()}, flags, data, out));
    return expect_equal(device, out, expected, 4, "shared_flags");
}

static __global__ void store(int *out, int value) {
    *out = value;
}

static int host_value() {
    return 7;
}

/* A host function's static variable that is set when it is first called: its guard is read atomically. */
static Status run_static_guard(const Device *device) {
    static const int seven = host_value() * (device ? 1 : 2);
    int *out;
    TRY(make_zeros(device, 1, &out));
    TRY(launch(store, {1, 1, 0, device->stream()}, out, seven));
    return expect_equal(device, out, &seven, 1, "static_guard");
}

extern "C" const SelfTest CLEAN_SCOPES[] = {
    {"counts by scope", run_count_by_scope, {}},
    {"lock in a __device__ variable", run_lock_in_variable, {}},
    {"flag that other blocks update", run_shared_flags, {}},
    {"guard of a static variable", run_static_guard, {}},
    {NULL, NULL, {}},
};
