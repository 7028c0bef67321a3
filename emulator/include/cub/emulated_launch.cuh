/* A launch by the stand-ins for CUB's device functions: one thread, in a variant and in a program as it is alike. */
#pragma once

#include "emulator/cuda.h"
#ifndef RUNGS_PROGRAM
#include "base/status.h"
#endif

namespace cub {

template <typename... Params, typename... Args>
static inline cudaError_t emulated_launch(const char *name, void (*kernel)(Params...), cudaStream_t stream, Args... args) {
#ifdef RUNGS_PROGRAM
    return EmulatorKernel(name, [kernel](const auto &...values) { kernel(values...); })
        .on(dim3(1), dim3(1), 0, stream)(static_cast<Params>(args)...);
#else
    (void)name;
    return launch(kernel, {dim3(1), dim3(1), 0, stream}, args...) == STATUS_OK ? cudaSuccess : cudaErrorInvalidValue;
#endif
}

} // namespace cub
