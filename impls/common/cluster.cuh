/* cluster.cuh - blocks that run at the same time on neighbouring SMs and write to each other's shared memory (compute capability
 * 9.0). Blocks k C .. k C + C - 1 of a launch by launch_clusters() are one cluster of C. In the emulator C is 1.
 *
 *     cluster_arrive(); ... cluster_wait();      a barrier of all threads of the cluster, in two halves: what was written before
 * the first is seen behind the second. The first pair says that all blocks have started. cluster_store(&shares[k], rank, value);
 * into the same variable of another block; it must not have ended */
#pragma once

#include "common/bulk_copy.cuh"
#include "common/device_limits.cuh"
#include "common/launch_attribute.cuh"

/* Up to 8 blocks run on every device with clusters, 16 where the kernel asks for it, and they fit. */
constexpr unsigned CLUSTER_BLOCKS_MAX = 16, CLUSTER_BLOCKS_PORTABLE = 8;

/* Blocks that a cluster may have on the present device; 1: it has no clusters. */
static inline unsigned cluster_blocks_max(void) {
#ifdef RUNGS_EMULATED
    return 1;
#else
    const size_t major = device_attribute(cudaDevAttrComputeCapabilityMajor, 9);
    return major < 9 ? 1 : major <= 10 ? CLUSTER_BLOCKS_MAX : CLUSTER_BLOCKS_PORTABLE;
#endif
}

/* launch() in clusters of `blocks`; shape.grid.x is a multiple of that. */
template <typename... Params, typename... Args>
static inline Status launch_clusters(void (*kernel)(Params...), LaunchShape shape, unsigned blocks, Args... args) {
#ifndef RUNGS_EMULATED
    TRY(bulk_allow_shared(kernel, shape.shared_bytes));
    if (blocks > 1) {
        if (blocks > CLUSTER_BLOCKS_PORTABLE)
            TRY_CUDA(
                cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        cudaLaunchAttribute cluster = {};
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = {blocks, 1, 1};
        return launch_with(cluster, kernel, shape, args...);
    }
#endif
    (void)blocks;
    return launch(kernel, shape, args...);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
static __device__ inline void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
static __device__ inline void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ inline void cluster_store(double *shared, unsigned rank, double value) {
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(address)
                 : "r"((unsigned)__cvta_generic_to_shared(shared)), "r"(rank));
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(address), "d"(value) : "memory");
}
#else
static __device__ inline void cluster_arrive() {}
static __device__ inline void cluster_wait() {}
static __device__ inline void cluster_store(double *, unsigned, double) {}
#endif
