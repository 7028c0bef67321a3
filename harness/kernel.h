/* kernel.h - contract: what a .cu file includes. Under nvcc it is CUDA's own runtime and a typed launch; under the host compiler
 * (RUNGS_EMULATED) the same names come from the emulator, which runs the kernel on the CPU to verify it.
 *
 *     __global__ void scale(const double *x, double *y, size_t n) { ... }
 *     TRY(launch(scale, {grid, block, shared_bytes, stream}, x, y, n));
 *
 * Dynamic shared memory is declared with DYN_SHARED(double, tile), which stands for `extern __shared__ double tile[]`.
 */
#pragma once

#include "base/launches.h"
#include "base/status.h"

#ifdef RUNGS_EMULATED
#include "emulator/cuda.h"
#else
#include <cuda_runtime.h>

/* One spelling of `extern __shared__` for every element type: the symbol is untyped, the name typed. Bulk copies are slower where
 * it is not aligned to 128 bytes. */
#define DYN_SHARED(type, name)                                                                                                     \
    extern __shared__ __align__(128) unsigned char rungs_dynamic_shared_[];                                                        \
    type *const name = reinterpret_cast<type *>(rungs_dynamic_shared_)

/* A CUDA runtime call as a Status, with the call's text in the message. The runtime also remembers a failed call; that memory is
 * cleared, or the next wait would report it as the fault of other work. */
#define TRY_CUDA(call)                                                                                                             \
    do {                                                                                                                           \
        const cudaError_t try_cuda_ = (call);                                                                                      \
        if (try_cuda_ != cudaSuccess) {                                                                                            \
            (void)cudaGetLastError();                                                                                              \
            return status_fail(STATUS_DEVICE, "%s: %s (%s)", #call, cudaGetErrorString(try_cuda_), cudaGetErrorName(try_cuda_));   \
        }                                                                                                                          \
    } while (0)

struct LaunchShape {
    dim3 grid, block;
    size_t shared_bytes; /* dynamic; above 48 KiB launch() opts in */
    void *stream;
};

template <typename... Params, typename... Args>
static inline Status try_launch(const cudaLaunchConfig_t *config, void (*kernel)(Params...), Args... args) {
    TRY_CUDA(cudaLaunchKernelEx(config, kernel, static_cast<Params>(args)...));
    return STATUS_OK;
}

template <typename... Params, typename... Args>
static inline Status launch(void (*kernel)(Params...), LaunchShape shape, Args... args) {
    if (shape.shared_bytes > 48 * 1024)
        TRY_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(shape.shared_bytes)));
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = static_cast<cudaStream_t>(shape.stream);
    const Status status = try_launch(&config, kernel, args...);
    if (status != STATUS_OK) return launches_failed(status);
    const unsigned grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z}, block[3] = {shape.block.x, shape.block.y, shape.block.z};
    launches_add(grid, block, shape.shared_bytes);
    return STATUS_OK;
}
#endif
