/* A launch by the stand-ins for CUB's device functions: one thread, in a variant and in a program as it is alike. The two-phase
 * protocol is kept: called without temporary memory they say how much they need, and that memory, the kernel's last parameter, is
 * then written, so that a buffer too small is found. */
#pragma once

#include "emulator/cuda.h"
#ifndef RUNGS_PROGRAM
#include "base/status.h"
#endif

namespace cub {

template <typename... Params, typename... Args>
static inline cudaError_t emulated_launch(const char *name, void (*kernel)(Params...), void *temporary, size_t &bytes,
                                          cudaStream_t stream, Args... args) {
    enum { TEMPORARY_BYTES = 256 };
    if (!temporary) {
        bytes = TEMPORARY_BYTES;
        return cudaSuccess;
    }
    if (bytes < TEMPORARY_BYTES) return cudaErrorInvalidValue;
    const auto start = [&](auto... all) {
#ifdef RUNGS_PROGRAM
        return EmulatorKernel(name, [kernel](const auto &...values) { kernel(values...); })
            .on(dim3(1), dim3(1), 0, stream)(static_cast<Params>(all)...);
#else
        (void)name;
        return launch(kernel, {dim3(1), dim3(1), 0, stream}, all...) == STATUS_OK ? cudaSuccess : cudaErrorInvalidValue;
#endif
    };
    return start(args..., static_cast<unsigned char *>(temporary));
}

} // namespace cub
