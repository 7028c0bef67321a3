/* device_limits.cuh - what the present device has, for launch configurations and for supports(), which may be asked without one.
 *
 * The queries create no context. Without a device they return the emulator's values where these decide whether a case can run (it
 * emulates compute capability 9.0), and those of one SM otherwise. */
#pragma once

#include "kernel.h"

/* An attribute of the current device; `otherwise` without a device, or if the query fails. */
static inline size_t device_attribute(cudaDeviceAttr attribute, int otherwise) {
    int device = 0, value = 0;
    if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess && value > 0)
        return (size_t)value;
    (void)cudaGetLastError(); /* or a later call would report it */
    return (size_t)otherwise;
}

static inline size_t device_sm_count(void) {
    return device_attribute(cudaDevAttrMultiProcessorCount, 1);
}
static inline size_t device_block_threads_max(void) {
    return device_attribute(cudaDevAttrMaxThreadsPerBlock, 1024);
}
/* Dynamic shared memory that launch() can give to a block. */
static inline size_t device_block_shared_max(void) {
    return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * 1024);
}
static inline size_t device_sm_threads_max(void) {
    return device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor, 2048);
}
static inline size_t device_sm_shared_bytes(void) {
    return device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 * 1024);
}
static inline size_t device_sm_registers(void) {
    return device_attribute(cudaDevAttrMaxRegistersPerMultiprocessor, 65536);
}
