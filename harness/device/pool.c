#include "device/pool.h"

#ifndef RUNGS_WITH_CUDA

Status pool_create(void **pool) {
    *pool = NULL;
    return status_fail(STATUS_UNSUPPORTED, "memory=pool: built without CUDA");
}

void pool_destroy(void *pool) {
    (void)pool;
}

Status pool_allocate(void *pool, size_t bytes, void *stream, void **out) {
    (void)pool, (void)bytes, (void)stream;
    *out = NULL;
    return status_fail(STATUS_UNSUPPORTED, "memory=pool: built without CUDA");
}

Status pool_release(void *pointer, void *stream) {
    (void)pointer, (void)stream;
    return status_fail(STATUS_UNSUPPORTED, "memory=pool: built without CUDA");
}

size_t pool_held_bytes(void *pool) {
    (void)pool;
    return 0;
}

#else

#include <cuda_runtime_api.h>
#include <stdint.h>

static Status failed(cudaError_t error, const char *what) {
    (void)cudaGetLastError(); /* the runtime remembers: the next launch would be blamed */
    return status_fail(STATUS_DEVICE, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

Status pool_create(void **pool) {
    int device = 0, supported = 0;
    *pool = NULL;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    if (error != cudaSuccess) return failed(error, "memory=pool");
    if (!supported) return status_fail(STATUS_UNSUPPORTED, "memory=pool: this device has no memory pools");
    cudaMemPool_t made = NULL;
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                           .handleTypes = cudaMemHandleTypeNone,
                                           .location = {.type = cudaMemLocationTypeDevice, .id = device}};
    error = cudaMemPoolCreate(&made, &props);
    if (error != cudaSuccess) return failed(error, "cudaMemPoolCreate");
    uint64_t keep_all = UINT64_MAX;
    error = cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep_all);
    if (error != cudaSuccess) {
        (void)cudaMemPoolDestroy(made);
        return failed(error, "cudaMemPoolSetAttribute");
    }
    *pool = made;
    return STATUS_OK;
}

void pool_destroy(void *pool) {
    if (pool) (void)cudaMemPoolDestroy(pool);
}

Status pool_allocate(void *pool, size_t bytes, void *stream, void **out) {
    *out = NULL;
    const cudaError_t error = cudaMallocFromPoolAsync(out, bytes, pool, stream);
    if (error == cudaSuccess) return STATUS_OK;
    if (error != cudaErrorMemoryAllocation) return failed(error, "cudaMallocFromPoolAsync");
    (void)cudaGetLastError(); /* being full is no fault of the device */
    return status_fail(STATUS_MEMORY, "no device memory for %zu bytes; the pool holds %zu bytes", bytes, pool_held_bytes(pool));
}

Status pool_release(void *pointer, void *stream) {
    const cudaError_t error = cudaFreeAsync(pointer, stream);
    return error == cudaSuccess ? STATUS_OK : failed(error, "cudaFreeAsync");
}

size_t pool_held_bytes(void *pool) {
    uint64_t bytes = 0;
    if (!pool || cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes) != cudaSuccess) return 0;
    return (size_t)bytes;
}

#endif
