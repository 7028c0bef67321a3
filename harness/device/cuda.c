/* A CUDA device through the runtime API. Copies go through two pinned staging buffers filled by all cores: a plain copy of pageable
 * memory is bound by one core, and the largest arrays are 8 GB. Built without CUDA, this file says so. */
#include "device/device.h"

#include <jansson.h>
#include <stdio.h>

#ifndef RUNGS_WITH_CUDA

#include <unistd.h>

const Device *device_cuda(void) {
    return NULL; /* so that nobody calls what follows */
}

int device_cuda_count(char *why, size_t why_size) {
#ifdef RUNGS_CUDA_EMULATED
    const bool has_driver = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0; /* the latter: of Windows */
    snprintf(why, why_size, "%s",
             has_driver ? "this program was built on a machine without a GPU; ./rungs rebuilds it"
                        : "no NVIDIA driver on this machine");
#else
    snprintf(why, why_size, "built without CUDA");
#endif
    return 0;
}

Status device_cuda_facts(int index, json_t **out) {
    (void)index, (void)out;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

void device_cuda_uuid(char uuid[48]) {
    uuid[0] = '\0';
}

Status pool_create(void **pool) {
    (void)pool;
    return status_fail(STATUS_UNSUPPORTED, "memory=pool: built without CUDA");
}

void pool_destroy(void *pool) {
    (void)pool;
}

Status pool_allocate(void *pool, size_t bytes, void *stream, void **out) {
    (void)bytes, (void)stream, (void)out;
    return pool_create(&pool);
}

Status pool_release(void *pointer, void *stream) {
    (void)stream;
    return pool_create(&pointer);
}

size_t pool_held_bytes(void *pool) {
    return (void)pool, 0;
}

#else

#include "device/digest.h"

#include <cuda_runtime_api.h>
#include <string.h>
#include <sys/random.h>

enum { STAGES = 2 };
static const size_t STAGE_BYTES = (size_t)32 << 20;
enum { SHARE_BYTES = 1 << 20 };

static cudaStream_t stream;
static void *staging[STAGES];
static cudaEvent_t staged[STAGES];
static void *digest_word;    /* 8 bytes on the device, for the result */
static uint64_t digest_seed; /* random, one for each process */

static Status failed(cudaError_t error, const char *what) {
    const Status code = error == cudaErrorMemoryAllocation ? STATUS_MEMORY : STATUS_DEVICE;
    return status_fail(code, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

#define TRY_RUNTIME(call)                                                                                                          \
    do {                                                                                                                           \
        const cudaError_t try_error_ = (call);                                                                                     \
        if (try_error_ != cudaSuccess) return failed(try_error_, #call);                                                           \
    } while (0)

int device_cuda_count(char *why, size_t why_size) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        (void)cudaGetLastError(); /* not sticky: nothing was started */
        int driver = 0;           /* stays 0 where there is no driver, which cudaGetDeviceCount calls an old one */
        if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
            snprintf(why, why_size, "no NVIDIA driver on this machine");
        else
            snprintf(why, why_size, "%s (%s)", cudaGetErrorString(error), cudaGetErrorName(error));
        return 0;
    }
    if (count == 0) snprintf(why, why_size, "the driver sees no CUDA device");
    return count;
}

static void cuda_close(void) {
    for (int i = 0; i < STAGES; i++) {
        if (staged[i]) (void)cudaEventDestroy(staged[i]);
        if (staging[i]) (void)cudaFreeHost(staging[i]);
        staged[i] = NULL;
        staging[i] = NULL;
    }
    if (digest_word) (void)cudaFree(digest_word);
    digest_word = NULL;
    if (stream) (void)cudaStreamDestroy(stream);
    stream = NULL;
}

static Status cuda_open(int index) {
    char why[256] = "";
    const int count = device_cuda_count(why, sizeof why);
    if (count == 0) return status_fail(STATUS_UNSUPPORTED, "no CUDA device: %s", why);
    if (index < 0 || index >= count)
        return status_fail(STATUS_UNSUPPORTED, "CUDA device %d: this machine has devices 0 to %d", index, count - 1);
    TRY_RUNTIME(cudaSetDevice(index));
    TRY_RUNTIME(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY_RUNTIME(cudaMalloc(&digest_word, sizeof(uint64_t)));
    if (getrandom(&digest_seed, sizeof digest_seed, 0) != sizeof digest_seed) return status_fail(STATUS_IO, "getrandom failed");
    return STATUS_OK;
}

static Status cuda_digest(const void *data, size_t bytes, uint64_t *out) {
    return digest_gpu(data, bytes, digest_seed, digest_word, stream, out);
}

static Status cuda_vary(const Vary *how, DType dtype, size_t n, const void *a, const void *b, void *to) {
    return vary_gpu(how, dtype, n, a, b, to, stream);
}

static Status cuda_allocate(size_t bytes, void **out) {
    *out = NULL;
    const cudaError_t error = cudaMalloc(out, bytes ? bytes : 1);
    if (error == cudaSuccess) return STATUS_OK;
    if (error != cudaErrorMemoryAllocation) return failed(error, "cudaMalloc");
    (void)cudaGetLastError(); /* being full is no fault of the device */
    size_t free_bytes = 0, total_bytes = 0;
    TRY_RUNTIME(cudaMemGetInfo(&free_bytes, &total_bytes));
    return status_fail(STATUS_MEMORY, "no device memory for %zu bytes; %zu of %zu bytes are free", bytes, free_bytes, total_bytes);
}

static void cuda_release(void *pointer) {
    (void)cudaFree(pointer);
}

/* Made at the first large copy, since most runs of small cases never need it. */
static Status staging_open(void) {
    for (int i = 0; i < STAGES; i++) {
        if (!staging[i]) TRY_RUNTIME(cudaMallocHost(&staging[i], STAGE_BYTES));
        if (!staged[i]) TRY_RUNTIME(cudaEventCreateWithFlags(&staged[i], cudaEventDisableTiming));
    }
    return STATUS_OK;
}

static void copy_by_all_cores(void *to, const void *from, size_t bytes) {
    const long shares = (long)((bytes + SHARE_BYTES - 1) / SHARE_BYTES);
#pragma omp parallel for schedule(static) if (shares > 1)
    for (long i = 0; i < shares; i++) {
        const size_t begin = (size_t)i * SHARE_BYTES, length = bytes - begin < SHARE_BYTES ? bytes - begin : SHARE_BYTES;
        memcpy((unsigned char *)to + begin, (const unsigned char *)from + begin, length);
    }
}

static size_t piece(size_t bytes, size_t begin) {
    return bytes - begin < STAGE_BYTES ? bytes - begin : STAGE_BYTES;
}

static Status cuda_copy_in(void *device, const void *host, size_t bytes) {
    if (bytes <= STAGE_BYTES) {
        TRY_RUNTIME(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
        TRY_RUNTIME(cudaStreamSynchronize(stream));
        return STATUS_OK;
    }
    TRY(staging_open());
    for (size_t begin = 0, i = 0; begin < bytes; begin += STAGE_BYTES, i++) {
        const size_t slot = i % STAGES, length = piece(bytes, begin);
        if (i >= STAGES) TRY_RUNTIME(cudaEventSynchronize(staged[slot]));
        copy_by_all_cores(staging[slot], (const unsigned char *)host + begin, length);
        TRY_RUNTIME(cudaMemcpyAsync((unsigned char *)device + begin, staging[slot], length, cudaMemcpyHostToDevice, stream));
        TRY_RUNTIME(cudaEventRecord(staged[slot], stream));
    }
    TRY_RUNTIME(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

static Status fetch(const void *device, size_t bytes, size_t begin) {
    if (begin >= bytes) return STATUS_OK;
    const size_t slot = begin / STAGE_BYTES % STAGES;
    TRY_RUNTIME(
        cudaMemcpyAsync(staging[slot], (const unsigned char *)device + begin, piece(bytes, begin), cudaMemcpyDeviceToHost, stream));
    TRY_RUNTIME(cudaEventRecord(staged[slot], stream));
    return STATUS_OK;
}

static Status cuda_copy_out(void *host, const void *device, size_t bytes) {
    if (bytes <= STAGE_BYTES) {
        TRY_RUNTIME(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
        TRY_RUNTIME(cudaStreamSynchronize(stream));
        return STATUS_OK;
    }
    TRY(staging_open());
    TRY(fetch(device, bytes, 0));
    for (size_t begin = 0; begin < bytes; begin += STAGE_BYTES) {
        const size_t slot = begin / STAGE_BYTES % STAGES;
        TRY(fetch(device, bytes, begin + STAGE_BYTES)); /* the next piece travels while this one is unloaded */
        TRY_RUNTIME(cudaEventSynchronize(staged[slot]));
        copy_by_all_cores((unsigned char *)host + begin, staging[slot], piece(bytes, begin));
    }
    return STATUS_OK;
}

static Status cuda_fill(void *device, unsigned char byte, size_t bytes) {
    TRY_RUNTIME(cudaMemsetAsync(device, byte, bytes, stream));
    TRY_RUNTIME(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

static Status cuda_copy(void *to, const void *from, size_t bytes) {
    TRY_RUNTIME(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
    return STATUS_OK;
}

static Status cuda_wait(const char *what) {
    const cudaError_t waited = cudaStreamSynchronize(stream), launched = cudaGetLastError();
    if (waited != cudaSuccess) return failed(waited, what);
    return launched != cudaSuccess ? failed(launched, what) : STATUS_OK;
}

/* Of the whole device: another process that starts or ends meanwhile shows here too. 0 if the driver does not say. */
static size_t cuda_in_use(void) {
    size_t free_bytes = 0, total_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) return 0;
    return total_bytes - free_bytes;
}

static void *cuda_stream(void) {
    return stream;
}

const Device *device_cuda(void) {
    static const Device device = {
        .kind = "cuda",
        .timed = true,
        .open = cuda_open,
        .close = cuda_close,
        .allocate = cuda_allocate,
        .release = cuda_release,
        .copy_in = cuda_copy_in,
        .copy_out = cuda_copy_out,
        .fill = cuda_fill,
        .copy = cuda_copy,
        .digest = cuda_digest,
        .vary = cuda_vary,
        .wait = cuda_wait,
        .stream = cuda_stream,
        .in_use = cuda_in_use,
        .in_use_step = (size_t)2 << 20,
        .guard_most = (size_t)8 << 20, /* a grid stride: 132 multiprocessors x 2048 threads x 16 bytes are 4.1 MiB */
    };
    return &device;
}

/* ---- Facts for the environment line. */

static void format_uuid(const cudaUUID_t *uuid, char text[48]) {
    size_t used = (size_t)snprintf(text, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(text + used, 48 - used, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned)(unsigned char)uuid->bytes[i]);
}

Status device_cuda_facts(int index, json_t **out) {
    struct cudaDeviceProp p;
    int runtime = 0;
    cudaError_t error = cudaGetDeviceProperties(&p, index);
    if (error == cudaSuccess) error = cudaRuntimeGetVersion(&runtime);
    if (error != cudaSuccess) return status_fail(STATUS_DEVICE, "CUDA device %d: %s", index, cudaGetErrorString(error));
    char capability[16], version[16], uuid[48];
    snprintf(capability, sizeof capability, "%d.%d", p.major, p.minor);
    snprintf(version, sizeof version, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    format_uuid(&p.uuid, uuid);
    *out = json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:s}", "name", p.name, "uuid", uuid, "compute_capability", capability,
                     "sm_count", p.multiProcessorCount, "l2_bytes", p.l2CacheSize, "memory_bytes", (json_int_t)p.totalGlobalMem,
                     "shared_bytes_per_block", (json_int_t)p.sharedMemPerBlockOptin, "runtime", version);
    return *out ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for the facts of device %d", index);
}

void device_cuda_uuid(char uuid[48]) {
    struct cudaDeviceProp p;
    int index = 0;
    uuid[0] = '\0';
    if (cudaGetDevice(&index) == cudaSuccess && cudaGetDeviceProperties(&p, index) == cudaSuccess) format_uuid(&p.uuid, uuid);
}

/* ---- The pool. */

static Status pool_failed(cudaError_t error, const char *what) {
    (void)cudaGetLastError(); /* the runtime remembers: the next launch would be blamed */
    return failed(error, what);
}

Status pool_create(void **pool) {
    int device = 0, supported = 0;
    *pool = NULL;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    if (error != cudaSuccess) return pool_failed(error, "memory=pool");
    if (!supported) return status_fail(STATUS_UNSUPPORTED, "memory=pool: this device has no memory pools");
    cudaMemPool_t made = NULL;
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                           .handleTypes = cudaMemHandleTypeNone,
                                           .location = {.type = cudaMemLocationTypeDevice, .id = device}};
    error = cudaMemPoolCreate(&made, &props);
    if (error != cudaSuccess) return pool_failed(error, "cudaMemPoolCreate");
    uint64_t keep_all = UINT64_MAX;
    error = cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep_all);
    if (error != cudaSuccess) {
        (void)cudaMemPoolDestroy(made);
        return pool_failed(error, "cudaMemPoolSetAttribute");
    }
    *pool = made;
    return STATUS_OK;
}

void pool_destroy(void *pool) {
    if (pool) (void)cudaMemPoolDestroy(pool);
}

Status pool_allocate(void *pool, size_t bytes, void *on, void **out) {
    *out = NULL;
    const cudaError_t error = cudaMallocFromPoolAsync(out, bytes, pool, on);
    if (error == cudaSuccess) return STATUS_OK;
    if (error != cudaErrorMemoryAllocation) return pool_failed(error, "cudaMallocFromPoolAsync");
    (void)cudaGetLastError(); /* being full is no fault of the device */
    return status_fail(STATUS_MEMORY, "no device memory for %zu bytes; the pool holds %zu bytes", bytes, pool_held_bytes(pool));
}

Status pool_release(void *pointer, void *on) {
    const cudaError_t error = cudaFreeAsync(pointer, on);
    return error == cudaSuccess ? STATUS_OK : pool_failed(error, "cudaFreeAsync");
}

size_t pool_held_bytes(void *pool) {
    uint64_t bytes = 0;
    if (!pool || cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes) != cudaSuccess) return 0;
    return (size_t)bytes;
}

#endif
