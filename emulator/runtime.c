/* The CUDA runtime functions that variants use, on the emulator: real prototypes, synchronous. A function that is not here does not
 * link, and then the variant should say so in .not_emulated or get it added here. */
#include "emulator/arena.h"
#include "emulator/bytes.h"
#include "emulator/fiber.h"
#include "emulator/heap.h"
#include "emulator/race.h"
#include "emulator/shared.h"
#include "emulator/stream.h"

#include <cuda_runtime_api.h>

static cudaError_t last_error = cudaSuccess;

static cudaError_t fail(cudaError_t error) {
    last_error = error;
    return error;
}

static cudaError_t from_status(Status status, cudaError_t error) {
    return status == STATUS_OK ? cudaSuccess : fail(error);
}

cudaError_t cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorInvalidValue:
        return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidResourceHandle:
        return "cudaErrorInvalidResourceHandle";
    case cudaErrorUnsupportedLimit:
        return "cudaErrorUnsupportedLimit";
    default:
        return "cudaErrorUnknown";
    }
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidResourceHandle:
        return "not the stream that the variant was given";
    case cudaErrorUnsupportedLimit:
        return "limit is not supported";
    default:
        return "unknown error";
    }
}

static void set(void *device, int value, size_t bytes) {
    arena_open();
    bytes_fill(device, (unsigned char)value, bytes);
    arena_close();
    race_host_wrote(device, bytes);
}

cudaError_t cudaMemsetAsync(void *device, int value, size_t bytes, cudaStream_t stream) {
    if (stream_check(stream, "cudaMemsetAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    if (bytes && !arena_valid(device, bytes)) return fail(cudaErrorInvalidValue);
    set(device, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    if (stream_check(stream, "cudaMemcpyAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    const bool to_device =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && arena_contains(to));
    const bool from_device =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && arena_contains(from));
    if (bytes && ((to_device && !arena_valid(to, bytes)) || (from_device && !arena_valid(from, bytes))))
        return fail(cudaErrorInvalidValue);
    arena_open();
    bytes_copy(to, from, bytes);
    arena_close();
    if (to_device) race_host_wrote(to, bytes);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
    if (stream_check(stream, "cudaMallocAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    if (arena_allocate(bytes, out) != STATUS_OK) return fail(cudaErrorMemoryAllocation);
    race_host_allocated(*out, bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    if (stream_check(stream, "cudaFreeAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    return from_status(arena_release(pointer), cudaErrorInvalidValue);
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    return cudaMallocAsync(out, bytes, stream_given());
}

cudaError_t cudaFree(void *pointer) {
    return cudaFreeAsync(pointer, stream_given());
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return stream_check(stream, "cudaStreamSynchronize") == STATUS_OK ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaDeviceSynchronize(void) {
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value) {
    (void)kernel;
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && (value < 0 || value > SHARED_MAX_BYTES))
        return fail(cudaErrorInvalidValue);
    return cudaSuccess;
}

/* As on the device, the heap's size is settled by the first kernel that allocates. */
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    if (limit != cudaLimitMallocHeapSize) return fail(cudaErrorUnsupportedLimit);
    return heap_set_limit(value) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    if (limit != cudaLimitMallocHeapSize) return fail(cudaErrorUnsupportedLimit);
    *value = heap_limit();
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}

/* The smallest device: persistent grids sized by it stay small too. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    if (device != 0) return fail(cudaErrorInvalidValue);
    switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
        *value = 1;
        break;
    case cudaDevAttrMaxThreadsPerBlock:
        *value = BLOCK_THREADS_MAX;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = 2048;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = 48 * 1024;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = SHARED_MAX_BYTES;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = 228 * 1024;
        break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
        *value = 65536;
        break;
    case cudaDevAttrWarpSize:
        *value = WARP_LANES;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        break;
    case cudaDevAttrL2CacheSize:
        *value = 50 << 20;
        break;
    case cudaDevAttrMaxGridDimX:
        *value = 2147483647;
        break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
        *value = 65535;
        break;
    default:
        return fail(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

/* As many blocks as are resident here, so that a grid sized by it can wait for all of its blocks. */
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared_bytes) {
    (void)kernel;
    if (threads < 1 || threads > BLOCK_THREADS_MAX || shared_bytes > SHARED_MAX_BYTES) return fail(cudaErrorInvalidValue);
    *blocks = emulator_settings.resident_blocks;
    return cudaSuccess;
}
