/* The CUDA runtime functions that variants use, on the emulator: real prototypes, synchronous. A function that is not here does not
 * link, and then the variant should say so in .not_emulated or get it added here. */
#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/race.h"
#include "emulator/values.h"

#include <cuda_runtime_api.h>

static cudaError_t last_error = cudaSuccess;

static cudaError_t fail(cudaError_t error) {
    last_error = error;
    return error;
}

int runtime_note(int error) {
    if (error != cudaSuccess) last_error = (cudaError_t)error;
    return error;
}

cudaError_t cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} ERRORS[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "not the stream that the variant was given"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnsupportedLimit, "cudaErrorUnsupportedLimit", "limit is not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};
enum { ERROR_COUNT = sizeof ERRORS / sizeof *ERRORS };

static int index_of(cudaError_t error) {
    int i = 0;
    while (i < ERROR_COUNT - 1 && ERRORS[i].error != error) i++;
    return i;
}

const char *cudaGetErrorName(cudaError_t error) {
    return ERRORS[index_of(error)].name;
}

const char *cudaGetErrorString(cudaError_t error) {
    return ERRORS[index_of(error)].text;
}

/* Arrays, and a program's __device__ and __constant__ variables, which are variables of its file. */
static bool device_valid(const void *address, size_t bytes) {
    const unsigned char *begin;
    size_t held;
    return arena_contains(address) ? arena_valid(address, bytes)
                                   : (program_runs() || program_bound()) && symbol_image(address, &begin, &held);
}

cudaError_t cudaMemsetAsync(void *device, int value, size_t bytes, cudaStream_t stream) {
    if (stream_check(stream, "cudaMemsetAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    if (bytes && !device_valid(device, bytes)) return fail(cudaErrorInvalidValue);
    arena_open();
    bytes_fill(device, (unsigned char)value, bytes);
    arena_close();
    memory_set(device, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    if (stream_check(stream, "cudaMemcpyAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    const bool to_device =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && arena_contains(to));
    const bool from_device =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && arena_contains(from));
    if (bytes && ((to_device && !device_valid(to, bytes)) || (from_device && !device_valid(from, bytes))))
        return fail(cudaErrorInvalidValue);
    arena_open();
    bytes_copy(to, from, bytes);
    arena_close();
    if (to_device || arena_contains(to)) memory_set(to, bytes);
    if (to_device && from_device) values_copy(to, from, bytes);
    if (from_device && !to_device) values_copied_to_host(from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
    if (stream_check(stream, "cudaMallocAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    if (arena_allocate(bytes, out) != STATUS_OK) return fail(cudaErrorMemoryAllocation);
    if (program_shares()) {
        arena_share(*out);
        memory_set(*out, bytes);
    } else {
        memory_unset(*out, bytes);
    }
    return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    if (stream_check(stream, "cudaFreeAsync") != STATUS_OK) return fail(cudaErrorInvalidResourceHandle);
    return arena_release(pointer) == STATUS_OK ? cudaSuccess : fail(cudaErrorInvalidValue);
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
    static const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } ATTRIBUTES[] = {
        {cudaDevAttrMultiProcessorCount, 1},
        {cudaDevAttrMaxThreadsPerBlock, BLOCK_THREADS_MAX},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
        {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, SHARED_MAX_BYTES},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 * 1024},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
        {cudaDevAttrWarpSize, WARP_LANES},
        {cudaDevAttrComputeCapabilityMajor, 9},
        {cudaDevAttrComputeCapabilityMinor, 0},
        {cudaDevAttrL2CacheSize, 50 << 20},
        {cudaDevAttrMaxGridDimX, 2147483647},
        {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535},
        {cudaDevAttrMaxBlockDimX, 1024},
        {cudaDevAttrMaxBlockDimY, 1024},
        {cudaDevAttrMaxBlockDimZ, 64},
        {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
        {cudaDevAttrMaxRegistersPerBlock, 65536},
        {cudaDevAttrTotalConstantMemory, 65536},
        {cudaDevAttrClockRate, 1000000},
        {cudaDevAttrMemoryClockRate, 1000000},
        {cudaDevAttrGlobalMemoryBusWidth, 64},
        {cudaDevAttrGpuOverlap, 1},
        {cudaDevAttrAsyncEngineCount, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrConcurrentManagedAccess, 1},
        {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrHostNativeAtomicSupported, 0},
        {cudaDevAttrComputeMode, cudaComputeModeDefault},
        {cudaDevAttrKernelExecTimeout, 0},
        {cudaDevAttrIntegrated, 0},
    };
    for (size_t i = 0; i < sizeof ATTRIBUTES / sizeof *ATTRIBUTES; i++) {
        if (ATTRIBUTES[i].attribute != attribute) continue;
        *value = ATTRIBUTES[i].value;
        return cudaSuccess;
    }
    return fail(cudaErrorInvalidValue);
}

/* As many blocks as are resident here, so that a grid sized by it can wait for all of its blocks. */
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared_bytes) {
    (void)kernel;
    if (threads < 1 || threads > BLOCK_THREADS_MAX || shared_bytes > SHARED_MAX_BYTES) return fail(cudaErrorInvalidValue);
    *blocks = (int)emulator_settings.resident_blocks;
    return cudaSuccess;
}
