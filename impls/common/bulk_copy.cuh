/* bulk_copy.cuh - a run of elements between global and shared memory, moved by the copy engine of the SM (TMA bulk copies, compute
 * capability 9.0) where there is one, else by the threads. Bulk copies need no register and no thread to wait with them.
 *
 *     DYN_SHARED(T, tile);                            16-byte aligned
 *     __shared__ BulkBarrier barrier;
 *     bulk_load_begin(tile, length, x, span, packed, &barrier);      all threads of the block
 *     bulk_load_wait(&barrier);                                      all threads; then tile[0 .. length) may be read and written
 *     bulk_store_warp(y, tile, first, count, span, packed);          all threads of a warp; it has written these elements itself
 *
 * tile[j] stands for element span.low + j of the array. Elements outside of [span.begin, span.end) are 0 after loading and are not
 * stored. span.low is a multiple of 16 bytes. packed: both arrays are aligned to 16 bytes. */
#pragma once

#include "common/async_copy.cuh"

/* launch() opts in to more than 48 KiB by the dynamic part alone; a kernel whose static part counts too calls this before. */
template <typename... Params> static inline Status bulk_allow_shared(void (*kernel)(Params...), size_t dynamic) {
    TRY_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(dynamic)));
    return STATUS_OK;
}

struct BulkSpan {
    long long low, begin, end; /* begin <= end */
};

struct BulkBarrier {
    unsigned long long state;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define BULK_COPIES 1
#else
#define BULK_COPIES 0
#endif

#if BULK_COPIES
static __device__ inline unsigned bulk_shared_address(const void *shared) {
    return (unsigned)__cvta_generic_to_shared(shared);
}
/* A barrier for one phase, which ends when `bytes` have arrived. By one thread; the others wait behind a __syncthreads. */
static __device__ inline void bulk_barrier_init(BulkBarrier *barrier, unsigned bytes) {
    const unsigned address = bulk_shared_address(barrier);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
}
static __device__ inline void bulk_barrier_wait(BulkBarrier *barrier) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(bulk_shared_address(barrier))
                     : "memory");
}
static __device__ inline void bulk_copy_in(void *shared, const void *global, unsigned bytes, BulkBarrier *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     bulk_shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(bulk_shared_address(barrier))
                 : "memory");
}
/* By one thread, behind bulk_copy_fence() of those who wrote; returns when shared memory may be used for something else. */
static __device__ inline void bulk_copy_out(void *global, const void *shared, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(bulk_shared_address(shared)),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
static __device__ inline void bulk_copy_fence() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#endif

/* Asks the L2 to fetch; both are multiples of 16. By one thread. */
static __device__ inline void bulk_prefetch(const void *global, unsigned bytes) {
#if BULK_COPIES
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
#else
    (void)global;
    (void)bytes;
#endif
}

/* The part of a span that copies of 16 bytes can move: [first, last) of the tile; none: first = last = the end of the span. */
template <typename T> struct BulkPart {
    unsigned begin, first, last, end; /* begin <= first <= last <= end */
    __device__ BulkPart(const BulkSpan &span, unsigned from, unsigned to, bool packed) {
        constexpr unsigned EACH = 16 / sizeof(T);
        const unsigned span_begin = (unsigned)(span.begin - span.low), span_end = (unsigned)(span.end - span.low);
        begin = span_begin > from ? span_begin : from;
        end = span_end < to ? span_end : to;
        if (begin > end) begin = end;
        first = (begin + EACH - 1) / EACH * EACH;
        last = end / EACH * EACH;
        if (!packed || first >= last) first = last = end;
    }
};

template <typename T>
__device__ void bulk_load_begin(T *tile, unsigned length, const T *from, const BulkSpan &span, bool packed, BulkBarrier *barrier) {
    const BulkPart<T> part(span, 0, length, packed);
    const T *base = from + span.low;
#if BULK_COPIES
    const unsigned bytes = (part.last - part.first) * (unsigned)sizeof(T);
    if (threadIdx.x == 0) {
        bulk_barrier_init(barrier, bytes);
        if (bytes > 0) bulk_copy_in(tile + part.first, base + part.first, bytes, barrier);
    }
#else
    constexpr unsigned EACH = 16 / sizeof(T);
    for (unsigned j = part.first + threadIdx.x * EACH; j < part.last; j += blockDim.x * EACH) async_copy_16(tile + j, base + j);
    (void)barrier;
#endif
    for (unsigned j = threadIdx.x; j < part.first; j += blockDim.x) tile[j] = j >= part.begin && j < part.end ? base[j] : (T)0;
    for (unsigned j = part.last + threadIdx.x; j < length; j += blockDim.x) tile[j] = j < part.end ? base[j] : (T)0;
}

/* bulk_load_wait in two steps, for blocks with threads that need no element: all threads take the first, others may skip the
 * second. */
static __device__ inline void bulk_load_sync() {
#if !BULK_COPIES
    async_copy_wait();
#endif
    __syncthreads();
}
static __device__ inline void bulk_load_arrived(BulkBarrier *barrier) {
#if BULK_COPIES
    bulk_barrier_wait(barrier);
#else
    (void)barrier;
#endif
}
static __device__ inline void bulk_load_wait(BulkBarrier *barrier) {
    bulk_load_sync();
    bulk_load_arrived(barrier);
}

template <typename T>
__device__ void bulk_store_warp(T *to, const T *tile, unsigned from, unsigned count, const BulkSpan &span, bool packed) {
    const unsigned lane = threadIdx.x % 32;
    const BulkPart<T> part(span, from, from + count, packed);
    T *base = to + span.low;
#if BULK_COPIES
    bulk_copy_fence();
    __syncwarp();
    if (lane == 0 && part.last > part.first)
        bulk_copy_out(base + part.first, tile + part.first, (part.last - part.first) * (unsigned)sizeof(T));
#else
    constexpr unsigned EACH = 16 / sizeof(T);
    __syncwarp();
    for (unsigned j = part.first + lane * EACH; j < part.last; j += 32 * EACH) *(int4 *)(base + j) = *(const int4 *)(tile + j);
#endif
    for (unsigned j = part.begin + lane; j < part.first; j += 32) base[j] = tile[j];
    for (unsigned j = part.last + lane; j < part.end; j += 32) base[j] = tile[j];
}
