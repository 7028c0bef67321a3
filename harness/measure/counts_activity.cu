/* Launches, copies and fills of one call by CUPTI's activity records, which need no permission. */
#include "measure/counts.h"
#include "measure/cupti.cuh"

#include <cuda_occupancy.h>

#include <cxxabi.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if RUNGS_CUPTI_ACTIVITY
/* Records grow at their ends from release to release; what is read here is in all of one major version. */
#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 KernelRecord;
typedef CUpti_ActivityMemcpy6 CopyRecord;
#else
typedef CUpti_ActivityKernel9 KernelRecord;
typedef CUpti_ActivityMemcpy5 CopyRecord;
#endif
typedef CUpti_ActivityMemset4 FillRecord;

enum { BUFFER_BYTES = 1 << 20, BUFFER_ALIGNMENT = 8 };

/* CUPTI's callbacks add to this list: they get no context and may run on another thread. NULL: nothing is recorded. */
static pthread_mutex_t collecting = PTHREAD_MUTEX_INITIALIZER;
static ActivityList *collected;
static const Cupti *cupti_of_callbacks;
static cudaDeviceProp properties; /* of the device that is counted */

static double occupancy_of(const KernelRecord *record) {
    const int threads = record->blockX * record->blockY * record->blockZ;
    const cudaOccDeviceProp device(properties);
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = threads;
    function.numRegs = record->registersPerThread;
    function.sharedSizeBytes = static_cast<size_t>(record->staticSharedMemory);
    function.partitionedGCConfig = PARTITIONED_GC_OFF;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = static_cast<size_t>(record->dynamicSharedMemory);
    function.numBlockBarriers = 1;
    const cudaOccDeviceState state;
    cudaOccResult result = {};
    if (threads <= 0 ||
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads,
                                                static_cast<size_t>(record->dynamicSharedMemory)) != CUDA_OCC_SUCCESS)
        return NAN;
    const int warps = (threads + properties.warpSize - 1) / properties.warpSize;
    return static_cast<double>(result.activeBlocksPerMultiprocessor * warps) /
           static_cast<double>(properties.maxThreadsPerMultiProcessor / properties.warpSize);
}

static void name_kernel(const char *mangled, char out[ACTIVITY_NAME_MAX]) {
    int status = 0;
    char *demangled = mangled ? abi::__cxa_demangle(mangled, nullptr, nullptr, &status) : nullptr;
    activity_short_name(demangled ? demangled : mangled ? mangled : "?", out);
    free(demangled);
}

static void add_kernel(const KernelRecord *record) {
    Activity *item = activity_add(collected);
    if (!item) return;
    item->kind = ACTIVITY_KERNEL;
    name_kernel(record->name, item->name);
    item->begin = record->start;
    item->end = record->end;
    item->stream = record->streamId;
    item->registers = record->registersPerThread;
    item->shared_bytes = static_cast<size_t>(record->staticSharedMemory) + static_cast<size_t>(record->dynamicSharedMemory);
    const int grid[] = {record->gridX, record->gridY, record->gridZ}, block[] = {record->blockX, record->blockY, record->blockZ};
    for (int d = 0; d < 3; d++) item->grid[d] = grid[d], item->block[d] = block[d];
    item->occupancy = occupancy_of(record);
}

static void add_transfer(ActivityKind kind, uint64_t begin, uint64_t end, uint32_t stream) {
    Activity *item = activity_add(collected);
    if (!item) return;
    item->kind = kind;
    item->begin = begin;
    item->end = end;
    item->stream = stream;
}

static void add_record(const CUpti_Activity *record) {
    const CopyRecord *copy = reinterpret_cast<const CopyRecord *>(record);
    const FillRecord *fill = reinterpret_cast<const FillRecord *>(record);
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        add_kernel(reinterpret_cast<const KernelRecord *>(record));
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        add_transfer(ACTIVITY_COPY, copy->start, copy->end, copy->streamId);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        add_transfer(ACTIVITY_FILL, fill->start, fill->end, fill->streamId);
        break;
    default:
        break;
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *records_max) {
    void *memory = nullptr;
    if (posix_memalign(&memory, BUFFER_ALIGNMENT, BUFFER_BYTES) != 0) memory = nullptr;
    *buffer = static_cast<uint8_t *>(memory); /* NULL: CUPTI drops records, and counts them */
    *bytes = memory ? BUFFER_BYTES : 0;
    *records_max = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t, size_t valid_bytes) {
    const Cupti *cupti = cupti_of_callbacks;
    pthread_mutex_lock(&collecting);
    CUpti_Activity *record = nullptr;
    while (collected && valid_bytes > 0 && cupti->cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
        add_record(record);
    size_t dropped = 0;
    if (collected && cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
        collected->dropped += dropped;
    pthread_mutex_unlock(&collecting);
    free(buffer);
}

static void collect_into(ActivityList *list) {
    pthread_mutex_lock(&collecting);
    collected = list;
    pthread_mutex_unlock(&collecting);
}

static const CUpti_ActivityKind KINDS[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMSET};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

/* The device was waited for before: nothing but a flush, which tells the stream, and the call is between Enable and Disable. */
static Status record_call(const Cupti *cupti, CountedCall *call) {
    int enabled = 0;
    Status status = STATUS_OK;
    for (; enabled < KIND_COUNT && status == STATUS_OK; enabled++) {
        const CUptiResult result = cupti->cuptiActivityEnable(KINDS[enabled]);
        if (result != CUPTI_SUCCESS) status = cupti_failed(cupti, result, "cuptiActivityEnable");
    }
    if (status == STATUS_OK) status = counted_flush(call);
    if (status == STATUS_OK) status = counted_run(call);
    const CUptiResult flushed = cupti->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (int i = 0; i < enabled; i++) (void)cupti->cuptiActivityDisable(KINDS[i]);
    if (status == STATUS_OK && flushed != CUPTI_SUCCESS) status = cupti_failed(cupti, flushed, "cuptiActivityFlushAll");
    return status;
}

static Status collect(const Cupti *cupti, const MeasuredWork *work, void *stream, ActivityList *out) {
    int device = 0;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaGetDeviceProperties(&properties, device));
    if (!cupti_of_callbacks) TRY_CUPTI(cupti, cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    cupti_of_callbacks = cupti;
    CountedCall call;
    Status status = counted_open(&call, work, stream);
    (void)cupti->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* drops the records of the warm-up */
    collect_into(out);
    if (status == STATUS_OK) status = record_call(cupti, &call);
    collect_into(nullptr);
    if (status == STATUS_OK) status = counted_put_away(&call);
    counted_close(&call);
    return status;
}

Status counts_activity(const MeasuredWork *work, void *stream, ActivityList *out) {
    *out = ActivityList{};
    const Cupti *cupti = nullptr;
    TRY(cupti_get(&cupti));
    Status status = collect(cupti, work, stream, out);
    if (status == STATUS_OK && out->no_memory) status = status_fail(STATUS_MEMORY, "no memory for the records of CUPTI");
    if (status == STATUS_OK && out->dropped > 0)
        status = status_fail(STATUS_UNSUPPORTED, "CUPTI dropped %zu records of the call", out->dropped);
    if (status != STATUS_OK)
        activity_free(out);
    else
        activity_sort(out), activity_take_stream(out, "flush_kernel");
    return status;
}
#else
Status counts_activity(const MeasuredWork *work, void *stream, ActivityList *out) {
    (void)work, (void)stream;
    *out = ActivityList{};
    const Cupti *cupti = nullptr;
    return cupti_get(&cupti);
}
#endif
