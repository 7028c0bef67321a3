/* _stage.cuh - the bytes of a tile's rows in shared memory, in units of 16 as they lie in global memory. With compute capability
 * 9.0 one thread starts bulk copies, which the memory system carries out alone and a barrier in shared memory counts; before, all
 * threads of the block copy. */
#pragma once

#include "_column.cuh"
#include "common/async_copy.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
enum { STAGE_BULK = 1 };
#else
enum { STAGE_BULK = 0 };
#endif

enum { STAGE_UNIT = 16, STAGE_PAD = 16 /* bytes behind a part, of other rows or zeros: readers of words may look past its end */ };

/* Some rows' bytes of a column, those around them that fill units, and STAGE_PAD behind, in shared memory. */
struct StagePart {
    const unsigned char *from; /* a multiple of STAGE_UNIT */
    unsigned bytes;            /* of shared memory, whole units */
    unsigned array_bytes;      /* from the array; 0 after them, where it ends before */

    __device__ unsigned units() const { return array_bytes / STAGE_UNIT; }
};

/* Rows with bytes [begin, end) of an array of `count` bytes; the array begins at a multiple of STAGE_UNIT. false: more than
 * `most`. */
static __device__ inline bool stage_part(const unsigned char *chars, size_t count, size_t begin, size_t end, size_t most,
                                         StagePart *out) {
    const size_t first = begin / STAGE_UNIT * STAGE_UNIT, last = (end + STAGE_UNIT - 1) / STAGE_UNIT * STAGE_UNIT + STAGE_PAD;
    *out = {chars + first, (unsigned)(last - first), (unsigned)((last < count ? last : count) - first)};
    return last - first <= most;
}

/* One thread: what units do not cover. */
static __device__ inline void stage_rest(const StagePart &part, unsigned char *shared) {
    const unsigned whole = part.units() * STAGE_UNIT;
#pragma unroll 1
    for (unsigned i = whole; i < part.bytes; i += STAGE_UNIT) *(uint4 *)(shared + i) = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (unsigned i = whole; i < part.array_bytes; i++) shared[i] = part.from[i];
}

/* One thread, before the block's next barrier. barrier: shared, 8 bytes. */
static __device__ inline void stage_begin(const StagePart parts[2], unsigned char *const shared[2], unsigned long long *barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const unsigned at = (unsigned)__cvta_generic_to_shared(barrier), bytes = (parts[0].units() + parts[1].units()) * STAGE_UNIT;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    for (int i = 0; i < 2; i++)
        if (parts[i].units() > 0)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                             (unsigned)__cvta_generic_to_shared(shared[i])),
                         "l"(parts[i].from), "r"(parts[i].units() * STAGE_UNIT), "r"(at)
                         : "memory");
#else
    (void)barrier;
#endif
    for (int i = 0; i < 2; i++) stage_rest(parts[i], shared[i]);
}

/* All threads, after a barrier: the parts are complete and visible to every thread on return. */
static __device__ inline void stage_finish(const StagePart parts[2], unsigned char *const shared[2], unsigned long long *barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "wait: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                 "@!done bra wait;\n"
                 "}" ::"r"((unsigned)__cvta_generic_to_shared(barrier))
                 : "memory");
#else
    (void)barrier;
    for (int i = 0; i < 2; i++)
        for (unsigned u = threadIdx.x; u < parts[i].units(); u += blockDim.x)
            async_copy_16(shared[i] + u * STAGE_UNIT, parts[i].from + u * STAGE_UNIT);
    async_copy_wait();
    __syncthreads();
#endif
}
