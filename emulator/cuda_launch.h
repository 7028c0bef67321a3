/* cuda_launch.h - launch(), typed, and runtime calls as Status. */
#ifndef RUNGS_EMULATOR_CUDA_LAUNCH_H
#define RUNGS_EMULATOR_CUDA_LAUNCH_H

#include <tuple>

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
                                    RUNGS_UNIT};
    return emulator_launch(&request);
}

#endif
