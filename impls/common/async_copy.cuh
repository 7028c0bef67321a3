/* async_copy.cuh - global to shared memory without a register in between (cp.async, compute capability 8.0), 16 bytes at a time,
 * or 8. */
#pragma once

#include "kernel.h"

/* Begins the copy of 16 bytes; both addresses are multiples of 16. Nobody may read `shared` before async_copy_wait() and a barrier.
 */
static __device__ inline void async_copy_16(void *shared, const void *global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global)
                 : "memory");
#else
    *(int4 *)shared = *(const int4 *)global;
#endif
}

static __device__ inline void async_copy_8(void *shared, const void *global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global)
                 : "memory");
#else
    *(int2 *)shared = *(const int2 *)global;
#endif
}

/* Asks the L2 cache for the line that holds this address. */
static __device__ inline void prefetch_l2(const void *global) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
#else
    (void)global;
#endif
}

/* Closes a group: the copies that the calling thread has begun since the last one. */
static __device__ inline void async_copy_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for all groups that the calling thread has closed but the latest LEFT. */
template <int LEFT> static __device__ inline void async_copy_wait_but() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

/* Waits for the copies that the calling thread has begun. */
static __device__ inline void async_copy_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
