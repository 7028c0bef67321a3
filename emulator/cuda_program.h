/* cuda_program.h - what a CUDA program as it is sees before its first line (cmake/program.py includes it): the types and prototypes
 * of the toolkit, the emulator's device functions, and launches. */
#pragma once

#define RUNGS_PROGRAM
#define RUNGS_UNIT "program"

#include <cassert> // as by nvcc
#include <cuda_runtime.h>

#include "emulator/cuda.h"

#include <type_traits>

#include "emulator/cuda_program_math.h"

#include "emulator/cuda_program_ptx.h"

/* A launch: cmake/program.py writes `k<<<grid, block>>>(x, y)` as EmulatorKernel{"k", [&](const auto &...values) { k(values...); }}
 * .on(grid, block)(x, y), so that the compiler deduces template arguments and converts as in a call. */
template <typename Call, typename... Values> struct EmulatorBound {
    Call call;
    std::tuple<Values...> values; /* each thread gets its own copy, as parameters are passed by value */

    static void enter(void *self) {
        const EmulatorBound *bound = static_cast<EmulatorBound *>(self);
        std::apply(bound->call, bound->values);
    }
};

template <typename Call> struct EmulatorKernel {
    const char *name;
    Call call;
    EmulatorSite site;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    bool cooperative;
    const void *address; /* of a kernel without a name */

    EmulatorKernel(const char *called, Call body, EmulatorSite here = emulator_here())
        : name(called), call(body), site(here), shared_bytes(0), stream(nullptr), cooperative(false), address(nullptr) {}

    EmulatorKernel &on(dim3 blocks, dim3 threads, size_t bytes = 0, cudaStream_t queue = nullptr) {
        grid = blocks, block = threads, shared_bytes = bytes, stream = queue;
        return *this;
    }

    template <typename... Values> cudaError_t operator()(Values... values) const {
        EmulatorBound<Call, Values...> bound = {call, std::tuple<Values...>(values...)};
        const void *enter = reinterpret_cast<const void *>(EmulatorBound<Call, Values...>::enter);
        const EmulatorLaunch request = {address ? address : enter,
                                        EmulatorBound<Call, Values...>::enter,
                                        &bound,
                                        sizeof bound,
                                        {grid.x, grid.y, grid.z},
                                        {block.x, block.y, block.z},
                                        shared_bytes,
                                        stream,
                                        RUNGS_UNIT,
                                        name,
                                        cooperative};
        return static_cast<cudaError_t>(emulator_program_launch(&request, site));
    }
};

/* A launch by address finds its arguments behind pointers. */
template <typename... Params, typename Call, size_t... Index>
static inline cudaError_t emulator_launch_packed(const EmulatorKernel<Call> &launch, void **arguments,
                                                 std::index_sequence<Index...>) {
    return launch(*static_cast<std::remove_cv_t<Params> *>(arguments[Index])...);
}
#define EMULATOR_LAUNCH_BY_ADDRESS(name, together)                                                                                 \
    template <typename... Params>                                                                                                  \
    static inline cudaError_t name(void (*kernel)(Params...), dim3 grid, dim3 block, void **arguments, size_t bytes = 0,           \
                                   cudaStream_t stream = nullptr, EmulatorSite site = emulator_here()) {                           \
        EmulatorKernel launch(                                                                                                     \
            nullptr, [kernel](const auto &...values) { kernel(values...); }, site);                                                \
        launch.on(grid, block, bytes, stream).cooperative = together;                                                              \
        launch.address = reinterpret_cast<const void *>(kernel);                                                                   \
        return emulator_launch_packed<Params...>(launch, arguments, std::index_sequence_for<Params...>());                         \
    }
EMULATOR_LAUNCH_BY_ADDRESS(cudaLaunchKernel, false)
EMULATOR_LAUNCH_BY_ADDRESS(cudaLaunchCooperativeKernel, true)
#undef EMULATOR_LAUNCH_BY_ADDRESS
#define cudaLaunchKernelEx emulator_launch_ex /* the toolkit's passes pointers on, whose types nobody knows here */
template <typename... Params, typename... Args>
static inline cudaError_t emulator_launch_ex(const cudaLaunchConfig_t *config, void (*kernel)(Params...), Args &&...arguments) {
    EmulatorKernel launch(nullptr, [kernel](const auto &...values) { kernel(values...); });
    launch.on(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeCooperative) launch.cooperative = config->attrs[i].val.cooperative != 0;
    launch.address = reinterpret_cast<const void *>(kernel);
    return launch(static_cast<Params>(arguments)...);
}

/* What the toolkit's headers keep for nvcc: kernels and symbols by name. */
#define EMULATOR_BY_KERNEL(name, Parameters, ...)                                                                                  \
    template <typename Result, typename... Params> static inline cudaError_t name Parameters {                                     \
        return ::name(__VA_ARGS__);                                                                                                \
    }
#define EMULATOR_ADDRESS reinterpret_cast<const void *>(kernel)
EMULATOR_BY_KERNEL(cudaFuncSetAttribute, (Result(*kernel)(Params...), cudaFuncAttribute attribute, int value), EMULATOR_ADDRESS,
                   attribute, value)
EMULATOR_BY_KERNEL(cudaFuncGetAttributes, (cudaFuncAttributes * out, Result (*kernel)(Params...)), out, EMULATOR_ADDRESS)
EMULATOR_BY_KERNEL(cudaFuncSetCacheConfig, (Result(*kernel)(Params...), cudaFuncCache cache), EMULATOR_ADDRESS, cache)
EMULATOR_BY_KERNEL(cudaFuncSetSharedMemConfig, (Result(*kernel)(Params...), cudaSharedMemConfig config), EMULATOR_ADDRESS, config)
#undef EMULATOR_BY_KERNEL
#undef EMULATOR_ADDRESS
template <typename T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return ::cudaMemcpyToSymbol(static_cast<const void *>(&symbol), from, bytes, offset, kind);
}
template <typename T>
static inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return ::cudaMemcpyFromSymbol(to, static_cast<const void *>(&symbol), bytes, offset, kind);
}
template <typename T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr) {
    return ::cudaMemcpyToSymbolAsync(static_cast<const void *>(&symbol), from, bytes, offset, kind, stream);
}
template <typename T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr) {
    return ::cudaMemcpyFromSymbolAsync(to, static_cast<const void *>(&symbol), bytes, offset, kind, stream);
}
template <typename T> static inline cudaError_t cudaGetSymbolAddress(void **out, const T &symbol) {
    return ::cudaGetSymbolAddress(out, static_cast<const void *>(&symbol));
}
template <typename T> static inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &) {
    *bytes = sizeof(T);
    return cudaSuccess;
}

/* cmake/program.py writes `cudaMalloc(&x, n)` as cudaMalloc(emulator_named("x", &x), n). */
template <typename Pointer> static inline Pointer emulator_named(const char *name, Pointer pointer) {
    emulator_name_next(name);
    return pointer;
}

/* What CUDA 13 no longer has and older programs call. */
struct EmulatorDeviceProp : cudaDeviceProp {
    int clockRate, memoryClockRate, deviceOverlap, kernelExecTimeoutEnabled, computeMode;
};
static inline cudaError_t cudaGetDeviceProperties(EmulatorDeviceProp *out, int device) {
    const cudaError_t error = ::cudaGetDeviceProperties(static_cast<cudaDeviceProp *>(out), device);
    if (error != cudaSuccess) return error;
    out->kernelExecTimeoutEnabled = out->computeMode = 0;
    out->deviceOverlap = 1;
    (void)cudaDeviceGetAttribute(&out->memoryClockRate, cudaDevAttrMemoryClockRate, device);
    return cudaDeviceGetAttribute(&out->clockRate, cudaDevAttrClockRate, device);
}
#define cudaDeviceProp EmulatorDeviceProp
#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset

#define cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, ...)                                                \
    cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind)

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
