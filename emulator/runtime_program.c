/* The CUDA runtime functions that only programs use: copies that wait, streams and events, memory that host code shares, symbols,
 * properties. Everything is done at once, in the order of the calls. */
#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/race.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Much of what a program says means nothing here: streams, flags, hints. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static cudaError_t fail(cudaError_t error) {
    return (cudaError_t)runtime_note((int)error);
}

/* ---- Memory. */

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind, stream_given());
}

cudaError_t cudaMemset(void *device, int value, size_t bytes) {
    return cudaMemsetAsync(device, value, bytes, stream_given());
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
    if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidPitchValue);
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; row++)
        error = cudaMemcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind);
    return error;
}

cudaError_t cudaMemset2D(void *device, size_t pitch, int value, size_t width, size_t height) {
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; row++)
        error = cudaMemset((char *)device + row * pitch, value, width);
    return error;
}

cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
    enum { PITCH = 512 };
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return cudaMalloc(out, *pitch * height);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent) {
    out->xsize = extent.width;
    out->ysize = extent.height;
    return cudaMallocPitch(&out->ptr, &out->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
    cudaError_t error = cudaSuccess;
    for (size_t plane = 0; plane < extent.depth && error == cudaSuccess; plane++)
        error = cudaMemset2D((char *)to.ptr + plane * to.pitch * to.ysize, to.pitch, value, extent.width, extent.height);
    return error;
}

static char *first_of(struct cudaPitchedPtr part, struct cudaPos at, size_t plane) {
    return (char *)part.ptr + ((at.z + plane) * part.ysize + at.y) * part.pitch + at.x;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *copy) {
    if (copy->srcArray || copy->dstArray) return fail(cudaErrorNotSupported);
    cudaError_t error = cudaSuccess;
    for (size_t plane = 0; plane < copy->extent.depth && error == cudaSuccess; plane++)
        error = cudaMemcpy2D(first_of(copy->dstPtr, copy->dstPos, plane), copy->dstPtr.pitch,
                             first_of(copy->srcPtr, copy->srcPos, plane), copy->srcPtr.pitch, copy->extent.width,
                             copy->extent.height, copy->kind);
    return error;
}

/* Host code may have written any of it. */
static cudaError_t allocate_shared(void **out, size_t bytes) {
    const cudaError_t error = cudaMalloc(out, bytes);
    if (error != cudaSuccess) return error;
    arena_share(*out);
    memory_set(*out, bytes);
    return cudaSuccess;
}

cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags) {
    return allocate_shared(out, bytes);
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
    return allocate_shared(out, bytes);
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
    return allocate_shared(out, bytes);
}

cudaError_t cudaFreeHost(void *pointer) {
    return cudaFree(pointer);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *host, size_t bytes, unsigned flags) {
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *host) {
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    *total = (size_t)8 << 30;
    *left = arena_in_use() < *total ? *total - arena_in_use() : 0;
    return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation to, unsigned flags,
                                 cudaStream_t stream) {
    return arena_valid(pointer, bytes) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation location) {
    return arena_valid(pointer, bytes) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

/* ---- Symbols: variables of the program's files. */

cudaError_t cudaGetSymbolAddress(void **out, const void *symbol) {
    *out = (void *)(uintptr_t)symbol;
    return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    return cudaMemcpy((char *)(uintptr_t)symbol + offset, from, bytes, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    return cudaMemcpy(to, (const char *)symbol + offset, bytes, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                                    cudaStream_t stream) {
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

/* ---- Streams and events. */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
    static uintptr_t last = 16; /* beyond cudaStreamLegacy and cudaStreamPerThread */
    *out = (cudaStream_t)(++last * 16);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
    return cudaStreamCreateWithPriority(out, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *out) {
    return cudaStreamCreateWithPriority(out, 0, 0);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    function(data);
    return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags) {
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}

struct CUevent_st {
    struct timespec at;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
    *out = calloc(1, sizeof **out);
    return *out ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
    return cudaEventCreateWithFlags(out, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return cudaSuccess;
}

/* Of the emulator: no time of a kernel. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    *milliseconds =
        (float)((double)(end->at.tv_sec - start->at.tv_sec) * 1e3 + (double)(end->at.tv_nsec - start->at.tv_nsec) * 1e-6);
    return cudaSuccess;
}

/* ---- The device. */

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void) {
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cache) {
    return cudaSuccess;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *out) {
    *out = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) {
    return cudaSuccess;
}

cudaError_t cudaFuncSetSharedMemConfig(const void *kernel, enum cudaSharedMemConfig config) {
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *kernel, enum cudaFuncCache cache) {
    return cudaDeviceSetCacheConfig(cache);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = 0;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    return cudaDriverGetVersion(version);
}

static int attribute(enum cudaDeviceAttr which) {
    int value = 0;
    (void)cudaDeviceGetAttribute(&value, which, 0);
    return value;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
    if (device != 0) return fail(cudaErrorInvalidDevice);
    *out = (struct cudaDeviceProp){.totalGlobalMem = (size_t)8 << 30,
                                   .sharedMemPerBlock = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlock),
                                   .sharedMemPerBlockOptin = SHARED_MAX_BYTES,
                                   .sharedMemPerMultiprocessor = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
                                   .regsPerBlock = 65536,
                                   .regsPerMultiprocessor = 65536,
                                   .warpSize = WARP_LANES,
                                   .maxThreadsPerBlock = BLOCK_THREADS_MAX,
                                   .maxThreadsPerMultiProcessor = 2048,
                                   .maxBlocksPerMultiProcessor = 32,
                                   .maxThreadsDim = {1024, 1024, 64},
                                   .maxGridSize = {2147483647, 65535, 65535},
                                   .totalConstMem = 65536,
                                   .major = 9,
                                   .minor = 0,
                                   .multiProcessorCount = 1,
                                   .l2CacheSize = 50 << 20,
                                   .memoryBusWidth = 64,
                                   .unifiedAddressing = 1,
                                   .managedMemory = 1,
                                   .concurrentManagedAccess = 1,
                                   .canMapHostMemory = 1,
                                   .concurrentKernels = 1,
                                   .cooperativeLaunch = 1,
                                   .asyncEngineCount = 1};
    snprintf(out->name, sizeof out->name, "rungs emulator");
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *kernel) {
    *out = (struct cudaFuncAttributes){.maxThreadsPerBlock = BLOCK_THREADS_MAX,
                                       .maxDynamicSharedSizeBytes = SHARED_MAX_BYTES,
                                       .numRegs = 32,
                                       .ptxVersion = 90,
                                       .binaryVersion = 90};
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                   size_t shared_bytes, unsigned flags) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
}

/* The one pool of memory, without limits. */
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    if (device != 0) return fail(cudaErrorInvalidDevice);
    *pool = NULL;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value) {
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    return cudaSuccess;
}

/* There is one device. */
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return fail(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return cudaDeviceEnablePeerAccess(peer, 0);
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr which, int device, int peer) {
    return fail(cudaErrorInvalidDevice);
}

/* Hints for caches. */
cudaError_t cudaCtxResetPersistingL2Cache(void) {
    return cudaSuccess;
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID which, const cudaLaunchAttributeValue *value) {
    return cudaSuccess;
}

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStart(void) {
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void);
cudaError_t cudaProfilerStop(void) {
    return cudaSuccess;
}

/* Handles of cuBLAS, which programs make before they know whether they need one. What computes with them is not there, and so
 * refused by name. */
#define OF_HANDLE(name, ...)                                                                                                       \
    int name(__VA_ARGS__);                                                                                                         \
    int name(__VA_ARGS__)

OF_HANDLE(cublasCreate_v2, const void **handle) {
    static const char nothing;
    *handle = &nothing;
    return 0;
}
OF_HANDLE(cublasLtCreate, const void **handle) {
    return cublasCreate_v2(handle);
}
OF_HANDLE(cublasDestroy_v2, void *handle) {
    return 0;
}
OF_HANDLE(cublasLtDestroy, void *handle) {
    return 0;
}
OF_HANDLE(cublasSetStream_v2, void *handle, cudaStream_t stream) {
    return 0;
}
OF_HANDLE(cublasSetMathMode, void *handle, int mode) {
    return 0;
}
OF_HANDLE(cublasSetPointerMode_v2, void *handle, int mode) {
    return 0;
}
