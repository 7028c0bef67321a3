/* early_launch.cuh - a kernel whose blocks begin while the kernel before it in the stream still runs (programmatic dependent
 * launch, compute capability 9.0). Elsewhere, and in the emulator, it begins behind it as ever.
 *
 *     first:  early_allow();      the kernel behind may begin as soon as all blocks have said so, or ended
 *     second: ... early_wait();   the first has ended, and what it wrote is seen. Before: nothing that it writes or reads
 *     TRY(launch(first, ...)); TRY(launch_early(second, ...)); */
#pragma once

#include "common/launch_attribute.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
static __device__ inline void early_allow() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
static __device__ inline void early_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
#else
static __device__ inline void early_allow() {}
static __device__ inline void early_wait() {}
#endif

#ifndef RUNGS_EMULATED
/* Was the kernel, as it runs on this device, compiled with early_wait()? All kernels of a file are compiled alike. */
static inline bool early_compiled(const void *kernel) {
    cudaFuncAttributes attributes = {};
    if (cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess) return attributes.ptxVersion >= 90;
    (void)cudaGetLastError(); /* the launch will report it */
    return false;
}
#endif

/* launch() with at most 48 KiB of dynamic shared memory. */
template <typename... Params, typename... Args>
static inline Status launch_early(void (*kernel)(Params...), LaunchShape shape, Args... args) {
#ifndef RUNGS_EMULATED
    static const bool early = early_compiled(reinterpret_cast<const void *>(kernel));
    if (early) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        return launch_with(attribute, kernel, shape, args...);
    }
#endif
    return launch(kernel, shape, args...);
}
