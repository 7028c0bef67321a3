/* Kernels with one bug each in how far atomics, fences and volatile reach, and in __device__ variables. The right twins:
 * clean_scopes.cu. */
#include "kernel.h"
#include "selftest.h"

#include "emulator/fiber.h"

enum { BLOCKS = 6, THREADS = 32 };

static Status make_zeros(const Device *device, int n, int **out) {
    const int zero[64] = {0};
    return make_array(device, zero, (size_t)n, out);
}

/* BUG: an atomic for its block alone, on what all blocks count in. */
static __global__ void count_in_block(int *count) {
    atomicAdd_block(count, 1);
}

static Status run_count_in_block(const Device *device) {
    int *count;
    TRY(make_zeros(device, 1, &count));
    return launch(count_in_block, {BLOCKS, THREADS, 0, device->stream()}, count);
}

/* BUG: one block's atomics reach all, the other's its block alone. */
static __global__ void count_in_two_scopes(int *count) {
    if (blockIdx.x == 0)
        atomicAdd_block(count, 1);
    else
        atomicAdd(count, 1);
}

static Status run_count_in_two_scopes(const Device *device) {
    int *count;
    TRY(make_zeros(device, 1, &count));
    return launch(count_in_two_scopes, {BLOCKS, THREADS, 0, device->stream()}, count);
}

/* BUG: the lock is right, but its fences reach the block alone. */
static __global__ void lock_with_fences_of_block(int *lock, int *data) {
    if (threadIdx.x > 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence_block();
    data[0] += 1;
    __threadfence_block();
    atomicExch(lock, 0);
}

static Status run_lock_with_fences_of_block(const Device *device) {
    int *words;
    TRY(make_zeros(device, 16, &words));
    return launch(lock_with_fences_of_block, {BLOCKS, THREADS, 0, device->stream()}, words, words + 8);
}

static __device__ int variable, never_read[THREADS];
static __device__ int guard;

/* BUG: `+=` by every block. */
static __global__ void add_to_variable() {
    if (threadIdx.x == 0) variable += 1;
}

static Status run_add_to_variable(const Device *device) {
    return launch(add_to_variable, {BLOCKS, THREADS, 0, device->stream()});
}

/* BUG: all blocks write it; that nobody reads it must not hide this. */
static __global__ void write_what_nobody_reads() {
    never_read[threadIdx.x] = (int)(blockIdx.x + 1);
}

static Status run_write_what_nobody_reads(const Device *device) {
    return launch(write_what_nobody_reads, {BLOCKS, THREADS, 0, device->stream()});
}

/* BUG: the lock, a __device__ variable, is given back without a fence. */
static __global__ void lock_without_fence(int *data) {
    if (threadIdx.x > 0) return;
    while (atomicCAS(&guard, 0, 1) != 0) {}
    __threadfence();
    data[0] += 1;
    atomicExch(&guard, 0);
}

static Status run_lock_without_fence(const Device *device) {
    int *data;
    TRY(make_zeros(device, 1, &data));
    return launch(lock_without_fence, {BLOCKS, THREADS, 0, device->stream()}, data);
}

/* BUG, but only if volatile is to count as plain: a flag and its data, both volatile. */
static __global__ void volatile_flag(volatile int *flag, volatile int *data) {
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = 5;
        *flag = 1;
    } else if (*flag) {
        *data = 6;
    }
}

static Status run_volatile_as_plain(const Device *device) {
    int *words;
    emulator_settings.relaxed_volatile = false;
    TRY(make_zeros(device, 2, &words));
    return launch(volatile_flag, {2, THREADS, 0, device->stream()}, (volatile int *)words, (volatile int *)words + 1);
}

extern "C" const SelfTest BUGS_SCOPES[] = {
    {"atomics of a block by many blocks", run_count_in_block, {NULL, NULL, "data race"}},
    {"atomics of two scopes", run_count_in_two_scopes, {NULL, NULL, "data race"}},
    {"lock with fences of a block", run_lock_with_fences_of_block, {NULL, NULL, "data race"}},
    {"__device__ variable without atomics", run_add_to_variable, {NULL, NULL, "data race"}},
    {"__device__ variable that nobody reads", run_write_what_nobody_reads, {NULL, NULL, "data race"}},
    {"lock in a __device__ variable without a fence", run_lock_without_fence, {NULL, NULL, "data race"}},
    {"volatile as plain", run_volatile_as_plain, {NULL, NULL, "data race"}},
    {NULL, NULL, {}},
};
