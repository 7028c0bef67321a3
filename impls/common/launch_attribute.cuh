/* launch_attribute.cuh - launch() with an attribute of cudaLaunchKernelEx, such as a cluster. The emulator knows none. */
#pragma once

#include "kernel.h"

#ifndef RUNGS_EMULATED
template <typename... Params, typename... Args>
static inline Status launch_with(cudaLaunchAttribute attribute, void (*kernel)(Params...), LaunchShape shape, Args... args) {
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = static_cast<cudaStream_t>(shape.stream);
    config.attrs = &attribute;
    config.numAttrs = 1;
    TRY_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...));
    const unsigned grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z}, block[3] = {shape.block.x, shape.block.y, shape.block.z};
    launches_add(grid, block, shape.shared_bytes);
    return STATUS_OK;
}
#endif
