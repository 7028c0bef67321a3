/* cuda.h - CUDA C for the host compiler: what kernel.h includes when RUNGS_EMULATED is defined.
 *
 * Types and runtime prototypes are NVIDIA's own; what only a device compiler knows is declared here and in cuda_*.h and carried out
 * by the engine. Kernels compile unchanged. Not here: inline PTX, textures, clusters, cooperative groups, dynamic parallelism.
 */
#pragma once

#include <cuda_runtime.h>

/* Before the macros below: the types of 16 bits as host code has them; libstdc++ 13 writes __attribute__((__noinline__)) in these.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <memory>
#include <string>
#include <tuple>

#include "emulator/engine.h"

/* One section of __shared__ variables per source file: the build names the file. */
#ifndef RUNGS_UNIT
#define RUNGS_UNIT "unit"
#endif

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#undef __grid_constant__
#undef __noinline__
#undef __forceinline__
#undef __maxnreg__
#undef __managed__
#define __host__
#ifdef RUNGS_PROGRAM
/* Files of a program share kernels; cmake/program.py sees to __shared__. */
#define __global__
#define __device__
#define __constant__
#define __managed__
#else
/* As nvcc does it: two files may give different kernels the same name, and neither gets the other's. */
#define __global__ __attribute__((internal_linkage))
/* The annotation refers to the variable, so that no optimiser takes away what only other threads, or nobody, read. */
#define __device__ __attribute__((internal_linkage, annotate("device")))
#define __constant__ __attribute__((internal_linkage))
/* `used` keeps the optimiser from taking the variable apart: other threads see it too. A section whose name is no C identifier
 * keeps AddressSanitizer's red zones. */
#define __shared__ static __attribute__((used, section(".rungs_shared." RUNGS_UNIT)))
#endif
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))

#define DYN_SHARED(type, name) type *const name = static_cast<type *>(emulator_dynamic_shared())

/* Constant for the thread that reads them; the engine sets them at every switch. */
extern "C" {
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
}
static constexpr int warpSize = 32;

/* As a default argument: the place of the call in the kernel. */
constexpr EmulatorSite emulator_here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
}

#include "emulator/cuda_math.h"
#include "emulator/cuda_sync.h"

#ifndef RUNGS_PROGRAM
/* launch(), typed, and runtime calls as Status. */
#define TRY_CUDA(call)                                                                                                             \
    do {                                                                                                                           \
        const cudaError_t try_cuda_ = (call);                                                                                      \
        if (try_cuda_ != cudaSuccess)                                                                                              \
            return status_fail(STATUS_DEVICE, "%s: %s (%s)", #call, cudaGetErrorString(try_cuda_), cudaGetErrorName(try_cuda_));   \
    } while (0)

struct LaunchShape {
    dim3 grid, block;
    size_t shared_bytes;
    void *stream;
};

/* A kernel with its arguments; every thread gets its own copy of them, as parameters are passed by value. */
template <typename... Params> struct EmulatorCall {
    void (*kernel)(Params...);
    std::tuple<Params...> arguments;

    static void enter(void *self) {
        const EmulatorCall *call = static_cast<EmulatorCall *>(self);
        std::apply(call->kernel, call->arguments);
    }
};

template <typename... Params, typename... Args>
static inline Status launch(void (*kernel)(Params...), LaunchShape shape, Args... args) {
    EmulatorCall<Params...> call = {kernel, std::tuple<Params...>(static_cast<Params>(args)...)};
    const EmulatorLaunch request = {reinterpret_cast<const void *>(kernel),
                                    EmulatorCall<Params...>::enter,
                                    &call,
                                    sizeof call,
                                    {shape.grid.x, shape.grid.y, shape.grid.z},
                                    {shape.block.x, shape.block.y, shape.block.z},
                                    shape.shared_bytes,
                                    shape.stream,
                                    RUNGS_UNIT,
                                    nullptr,
                                    false};
    return emulator_launch(&request);
}
#endif
