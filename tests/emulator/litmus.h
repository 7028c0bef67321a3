/* litmus.h - the classic tests of a memory model, with the scope of each access and fence by parameter. The threads of a test are
 * warps of one block, or blocks of their own.
 *
 *     message passing  data, flag := 1 | read flag until it is set, then data
 *     store buffering  x := 1, read y | y := 1, read x              not both 0
 *     IRIW             x := 1 | y := 1 | read x, y | read y, x      the readers agree on which came first
 */
#pragma once

#include "kernel.h"
#include "selftest.h"

#include <cuda/atomic>

enum Place { TOGETHER, APART };
enum Shape { MESSAGE_PASSING, STORE_BUFFERING, IRIW };
/* PLAIN: no atomic, or no fence. ORDERED: C++'s release and acquire, RELAXED: C++'s without an order; in the emulator only. REF:
 * cuda::atomic_ref's. */
enum Reach {
    PLAIN,
    OF_BLOCK,
    OF_DEVICE,
    OF_SYSTEM,
    VOLATILE,
    ORDERED,
    RELAXED,
    REF_ORDERED_BLOCK,
    REF_ORDERED_DEVICE,
    REF_RELAXED_BLOCK,
    REF_RELAXED_DEVICE
};

struct Litmus {
    Shape shape;
    Place place;
    Reach write, fence_before, read, fence_after; /* fence_before: after the first access of a writer; fence_after: of a reader */
};

static __device__ void litmus_write(Reach reach, int *at) {
    if (reach == PLAIN) *at = 1;
    if (reach == OF_BLOCK) atomicExch_block(at, 1);
    if (reach == OF_DEVICE) atomicExch(at, 1);
    if (reach == OF_SYSTEM) atomicExch_system(at, 1);
    if (reach == VOLATILE) *(volatile int *)at = 1;
    if (reach == REF_ORDERED_BLOCK) cuda::atomic_ref<int, cuda::thread_scope_block>(*at).store(1, cuda::memory_order_release);
    if (reach == REF_ORDERED_DEVICE) cuda::atomic_ref<int, cuda::thread_scope_device>(*at).store(1, cuda::memory_order_release);
    if (reach == REF_RELAXED_BLOCK) cuda::atomic_ref<int, cuda::thread_scope_block>(*at).store(1, cuda::memory_order_relaxed);
    if (reach == REF_RELAXED_DEVICE) cuda::atomic_ref<int, cuda::thread_scope_device>(*at).store(1, cuda::memory_order_relaxed);
#ifdef RUNGS_EMULATED
    if (reach == ORDERED) __atomic_store_n(at, 1, __ATOMIC_RELEASE);
    if (reach == RELAXED) __atomic_store_n(at, 1, __ATOMIC_RELAXED);
#endif
}

static __device__ int litmus_read(Reach reach, int *at) {
    if (reach == OF_BLOCK) return atomicAdd_block(at, 0);
    if (reach == OF_DEVICE) return atomicAdd(at, 0);
    if (reach == OF_SYSTEM) return atomicAdd_system(at, 0);
    if (reach == VOLATILE) return *(volatile int *)at;
    if (reach == REF_ORDERED_BLOCK) return cuda::atomic_ref<int, cuda::thread_scope_block>(*at).load(cuda::memory_order_acquire);
    if (reach == REF_ORDERED_DEVICE) return cuda::atomic_ref<int, cuda::thread_scope_device>(*at).load(cuda::memory_order_acquire);
    if (reach == REF_RELAXED_BLOCK) return cuda::atomic_ref<int, cuda::thread_scope_block>(*at).load(cuda::memory_order_relaxed);
    if (reach == REF_RELAXED_DEVICE) return cuda::atomic_ref<int, cuda::thread_scope_device>(*at).load(cuda::memory_order_relaxed);
#ifdef RUNGS_EMULATED
    if (reach == ORDERED) return __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (reach == RELAXED) return __atomic_load_n(at, __ATOMIC_RELAXED);
#endif
    return *at;
}

static __device__ void litmus_fence(Reach reach) {
    if (reach == OF_BLOCK) __threadfence_block();
    if (reach == OF_DEVICE) __threadfence();
    if (reach == OF_SYSTEM) __threadfence_system();
}

/* words: x or data, y or flag, and what was read. */
static __global__ void litmus_kernel(Litmus test, int *words) {
    const int role = test.place == APART ? (int)blockIdx.x : (int)(threadIdx.x / 32);
    int *const x = words, *const y = words + 1, *const seen = words + 2;
    if (threadIdx.x % 32 > 0) return;
    if (test.shape == MESSAGE_PASSING && role == 0) {
        *x = 1;
        litmus_fence(test.fence_before);
        litmus_write(test.write, y);
    } else if (test.shape == MESSAGE_PASSING && role == 1) {
        while (!litmus_read(test.read, y)) {}
        litmus_fence(test.fence_after);
        seen[0] = *x;
    } else if (test.shape == STORE_BUFFERING && role < 2) {
        litmus_write(test.write, role == 0 ? x : y);
        litmus_fence(test.fence_before);
        seen[role] = litmus_read(test.read, role == 0 ? y : x);
    } else if (test.shape == IRIW && role < 2) {
        litmus_write(test.write, role == 0 ? x : y);
    } else if (test.shape == IRIW && role < 4) {
        const int first = litmus_read(test.read, role == 2 ? x : y);
        litmus_fence(test.fence_after);
        seen[role - 2] = first && !litmus_read(test.read, role == 2 ? y : x);
    }
}

static Status litmus_run(const Device *device, Litmus test) {
    const int zero[4] = {0};
    int seen[2], *words;
    const unsigned apart = test.place == APART ? 4 : 1, together = test.place == APART ? 32 : 128;
    TRY(make_array(device, zero, 4, &words));
    TRY(launch(litmus_kernel, {apart, together, 0, device->stream()}, test, words));
    TRY(device->wait("litmus"));
    TRY(device->copy_out(seen, words + 2, sizeof seen));
    const bool right = test.shape == MESSAGE_PASSING ? seen[0] == 1
                       : test.shape == IRIW          ? !(seen[0] && seen[1])
                                                     : seen[0] || seen[1];
    return right ? STATUS_OK : status_fail(STATUS_CHECK, "litmus: the threads saw %d and %d", seen[0], seen[1]);
}

/* A row of a table of tests. */
#define LITMUS(name, ...)                                                                                                          \
    static Status name(const Device *device) {                                                                                     \
        return litmus_run(device, {__VA_ARGS__});                                                                                  \
    }
