/* Device memory read and written by one call, by CUPTI's range profiler: hardware counters, which take a permission. */
#include "measure/cupti.cuh"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#if RUNGS_CUPTI_RANGES
enum { METRIC_READ, METRIC_WRITTEN, METRIC_COUNT };
/* A flush, which writes back what the profiler itself wrote at the pass's start (4.5 MiB on an H200) and is not counted; the call;
 * and the flush after it: that only reads, so that what is written during it are lines that the call left in L2. */
enum { RANGE_SETTLE, RANGE_CALL, RANGE_BEHIND, RANGE_COUNT };

struct Image {
    uint8_t *bytes;
    size_t size;
};

struct RangeSession {
    const Cupti *cupti;
    CUcontext context;
    bool initialized;
    CUpti_Profiler_Host_Object *host;
    CUpti_RangeProfiler_Object *profiler;
    Image availability, config, counters;
    double values[RANGE_COUNT][METRIC_COUNT];
};

static const char *METRICS[METRIC_COUNT] = {"dram__bytes_read.sum", "dram__bytes_write.sum"};
static const char *const RANGE_NAMES[RANGE_COUNT] = {"settle", "call", "behind"};

/* CUPTI's structures carry their size in their first member. */
#define PARAMS(type, name)                                                                                                         \
    type##_Params name = {};                                                                                                       \
    name.structSize = type##_Params_STRUCT_SIZE

static Status image_create(Image *image, size_t bytes, const char *what) {
    free(image->bytes);
    *image = Image{static_cast<uint8_t *>(calloc(bytes ? bytes : 1, 1)), bytes};
    return image->bytes ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for CUPTI's %s image of %zu bytes", what, bytes);
}

static Status find_context(RangeSession *session, CUdevice *device) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* loaded already, by the runtime */
    if (!driver) return status_fail(STATUS_UNSUPPORTED, "libcuda.so.1: %s", dlerror());
    const auto current = reinterpret_cast<CUresult (*)(CUcontext *)>(dlsym(driver, "cuCtxGetCurrent"));
    const auto device_of = reinterpret_cast<CUresult (*)(CUdevice *)>(dlsym(driver, "cuCtxGetDevice"));
    if (!current || !device_of || current(&session->context) != CUDA_SUCCESS || !session->context ||
        device_of(device) != CUDA_SUCCESS)
        return status_fail(STATUS_DEVICE, "no current CUDA context");
    return STATUS_OK;
}

/* Which part of the machine forbids it, in words; CUPTI tells them one by one. */
static Status require_support(RangeSession *session, CUdevice device) {
    const Cupti *cupti = session->cupti;
    PARAMS(CUpti_Profiler_DeviceSupported, support);
    support.cuDevice = device;
    support.api = CUPTI_PROFILER_RANGE_PROFILING;
    TRY_CUPTI(cupti, cuptiProfilerDeviceSupported(&support));
    if (support.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return STATUS_OK;
    const struct {
        CUpti_Profiler_Support_Level level;
        const char *words;
    } parts[] = {
        {support.architecture, "this GPU is too old"},
        {support.sli, "SLI is on"},
        {support.vGpu, "this virtual GPU forbids hardware counters"},
        {support.confidentialCompute, "confidential computing is on"},
        {support.cmp, "it is a mining processor"},
        {support.wsl, "WSL forbids them"},
    };
    for (const auto &part : parts)
        if (part.level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
            return status_fail(STATUS_UNSUPPORTED, "CUPTI: no hardware counters on this device: %s", part.words);
    return status_fail(STATUS_UNSUPPORTED, "CUPTI: no hardware counters on this device");
}

static Status describe_counters(RangeSession *session) {
    const Cupti *cupti = session->cupti;
    PARAMS(CUpti_Profiler_GetCounterAvailability, available);
    available.ctx = session->context;
    TRY_CUPTI(cupti, cuptiProfilerGetCounterAvailability(&available));
    TRY(image_create(&session->availability, available.counterAvailabilityImageSize, "availability"));
    available.pCounterAvailabilityImage = session->availability.bytes;
    TRY_CUPTI(cupti, cuptiProfilerGetCounterAvailability(&available));
    return STATUS_OK;
}

static void host_close(RangeSession *session) {
    if (!session->host) return;
    PARAMS(CUpti_Profiler_Host_Deinitialize, end);
    end.pHostObject = session->host;
    (void)session->cupti->cuptiProfilerHostDeinitialize(&end);
    session->host = nullptr;
}

static Status host_open(RangeSession *session, const char *chip) {
    const Cupti *cupti = session->cupti;
    PARAMS(CUpti_Profiler_Host_Initialize, begin);
    begin.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    begin.pChipName = chip;
    begin.pCounterAvailabilityImage = session->availability.bytes;
    TRY_CUPTI(cupti, cuptiProfilerHostInitialize(&begin));
    session->host = begin.pHostObject;
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics, add);
    add.pHostObject = session->host;
    add.ppMetricNames = METRICS;
    add.numMetrics = METRIC_COUNT;
    TRY_CUPTI(cupti, cuptiProfilerHostConfigAddMetrics(&add));
    return STATUS_OK;
}

/* A chip that this CUPTI knows needs no image of what is available; a newer one does. */
static Status configure_metrics(RangeSession *session) {
    const Cupti *cupti = session->cupti;
    int ordinal = 0;
    if (cudaGetDevice(&ordinal) != cudaSuccess) return status_fail(STATUS_DEVICE, "no current CUDA device");
    PARAMS(CUpti_Device_GetChipName, chip);
    chip.deviceIndex = static_cast<size_t>(ordinal);
    TRY_CUPTI(cupti, cuptiDeviceGetChipName(&chip));
    if (host_open(session, chip.pChipName) != STATUS_OK) {
        host_close(session);
        TRY(describe_counters(session));
        TRY(host_open(session, chip.pChipName));
    }
    PARAMS(CUpti_Profiler_Host_GetConfigImageSize, size);
    size.pHostObject = session->host;
    TRY_CUPTI(cupti, cuptiProfilerHostGetConfigImageSize(&size));
    TRY(image_create(&session->config, size.configImageSize, "configuration"));
    PARAMS(CUpti_Profiler_Host_GetConfigImage, image);
    image.pHostObject = session->host;
    image.configImageSize = session->config.size;
    image.pConfigImage = session->config.bytes;
    TRY_CUPTI(cupti, cuptiProfilerHostGetConfigImage(&image));
    return STATUS_OK;
}

static Status profiler_open(RangeSession *session) {
    const Cupti *cupti = session->cupti;
    PARAMS(CUpti_RangeProfiler_Enable, enable);
    enable.ctx = session->context;
    TRY_CUPTI(cupti, cuptiRangeProfilerEnable(&enable));
    session->profiler = enable.pRangeProfilerObject;
    PARAMS(CUpti_RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = session->profiler;
    size.pMetricNames = METRICS;
    size.numMetrics = METRIC_COUNT;
    size.maxNumOfRanges = RANGE_COUNT;
    size.maxNumRangeTreeNodes = RANGE_COUNT;
    TRY_CUPTI(cupti, cuptiRangeProfilerGetCounterDataSize(&size));
    TRY(image_create(&session->counters, size.counterDataSize, "counter"));
    PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, image);
    image.pRangeProfilerObject = session->profiler;
    image.counterDataSize = session->counters.size;
    image.pCounterData = session->counters.bytes;
    TRY_CUPTI(cupti, cuptiRangeProfilerCounterDataImageInitialize(&image));
    PARAMS(CUpti_RangeProfiler_SetConfig, config);
    config.pRangeProfilerObject = session->profiler;
    config.configSize = session->config.size;
    config.pConfig = session->config.bytes;
    config.counterDataImageSize = session->counters.size;
    config.pCounterDataImage = session->counters.bytes;
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = RANGE_COUNT;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.targetNestingLevel = 1;
    TRY_CUPTI(cupti, cuptiRangeProfilerSetConfig(&config));
    return STATUS_OK;
}

static void session_close(RangeSession *session) {
    const Cupti *cupti = session->cupti;
    if (session->profiler) {
        PARAMS(CUpti_RangeProfiler_Disable, disable);
        disable.pRangeProfilerObject = session->profiler;
        (void)cupti->cuptiRangeProfilerDisable(&disable);
    }
    host_close(session);
    if (session->initialized) {
        PARAMS(CUpti_Profiler_DeInitialize, end);
        (void)cupti->cuptiProfilerDeInitialize(&end);
    }
    free(session->availability.bytes);
    free(session->config.bytes);
    free(session->counters.bytes);
}

static Status session_open(RangeSession *session, const Cupti *cupti) {
    *session = RangeSession{};
    session->cupti = cupti;
    CUdevice device = 0;
    TRY(find_context(session, &device));
    PARAMS(CUpti_Profiler_Initialize, begin);
    TRY_CUPTI(cupti, cuptiProfilerInitialize(&begin));
    session->initialized = true;
    TRY(require_support(session, device));
    TRY(configure_metrics(session));
    return profiler_open(session);
}

/* A call that takes nothing but the profiler. */
#define DEFINE_CALL(name, type, function)                                                                                          \
    static Status name(RangeSession *session) {                                                                                    \
        PARAMS(type, call);                                                                                                        \
        call.pRangeProfilerObject = session->profiler;                                                                             \
        TRY_CUPTI(session->cupti, function(&call));                                                                                \
        return STATUS_OK;                                                                                                          \
    }
DEFINE_CALL(session_pop, CUpti_RangeProfiler_PopRange, cuptiRangeProfilerPopRange)
DEFINE_CALL(session_start, CUpti_RangeProfiler_Start, cuptiRangeProfilerStart)

static Status session_push(RangeSession *session, int range) {
    PARAMS(CUpti_RangeProfiler_PushRange, push);
    push.pRangeProfilerObject = session->profiler;
    push.pRangeName = RANGE_NAMES[range];
    TRY_CUPTI(session->cupti, cuptiRangeProfilerPushRange(&push));
    return STATUS_OK;
}

static Status session_stop(RangeSession *session, bool *all) {
    PARAMS(CUpti_RangeProfiler_Stop, stop);
    stop.pRangeProfilerObject = session->profiler;
    TRY_CUPTI(session->cupti, cuptiRangeProfilerStop(&stop));
    *all = stop.isAllPassSubmitted != 0;
    return STATUS_OK;
}

/* Which of ours it is, by the last part of its name; -1: none. */
static int range_named(const char *name) {
    const char *last = name ? strrchr(name, '/') : nullptr;
    for (int i = 0; name && i < RANGE_COUNT; i++)
        if (strcmp(last ? last + 1 : name, RANGE_NAMES[i]) == 0) return i;
    return -1;
}

static Status evaluate_range(RangeSession *session, size_t index, int *which) {
    const Cupti *cupti = session->cupti;
    PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo, range);
    range.pCounterDataImage = session->counters.bytes;
    range.counterDataImageSize = session->counters.size;
    range.rangeIndex = index;
    range.rangeDelimiter = "/";
    TRY_CUPTI(cupti, cuptiRangeProfilerCounterDataGetRangeInfo(&range));
    *which = range_named(range.rangeName);
    if (*which < 0)
        return status_fail(STATUS_UNSUPPORTED, "CUPTI: a range '%s' that nobody opened", range.rangeName ? range.rangeName : "");
    PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues, values);
    values.pHostObject = session->host;
    values.pCounterDataImage = session->counters.bytes;
    values.counterDataImageSize = session->counters.size;
    values.rangeIndex = index;
    values.ppMetricNames = METRICS;
    values.numMetrics = METRIC_COUNT;
    values.pMetricValues = session->values[*which];
    TRY_CUPTI(cupti, cuptiProfilerHostEvaluateToGpuValues(&values));
    return STATUS_OK;
}

static Status session_evaluate(RangeSession *session) {
    const Cupti *cupti = session->cupti;
    PARAMS(CUpti_RangeProfiler_DecodeData, decode);
    decode.pRangeProfilerObject = session->profiler;
    TRY_CUPTI(cupti, cuptiRangeProfilerDecodeData(&decode));
    PARAMS(CUpti_RangeProfiler_GetCounterDataInfo, info);
    info.pCounterDataImage = session->counters.bytes;
    info.counterDataImageSize = session->counters.size;
    TRY_CUPTI(cupti, cuptiRangeProfilerGetCounterDataInfo(&info));
    if (decode.numOfRangeDropped > 0 || info.numTotalRanges != RANGE_COUNT)
        return status_fail(STATUS_UNSUPPORTED, "CUPTI: %zu ranges were counted and %zu dropped; %d were asked for",
                           info.numTotalRanges, decode.numOfRangeDropped, RANGE_COUNT);
    bool found[RANGE_COUNT] = {};
    for (size_t i = 0; i < info.numTotalRanges; i++) {
        int which = 0;
        TRY(evaluate_range(session, i, &which));
        found[which] = true;
    }
    for (int i = 0; i < RANGE_COUNT; i++)
        if (!found[i] || !(session->values[i][METRIC_READ] >= 0) || !(session->values[i][METRIC_WRITTEN] >= 0))
            return status_fail(STATUS_UNSUPPORTED, "CUPTI: no value of the range '%s'", RANGE_NAMES[i]);
    return STATUS_OK;
}

enum { PASSES_MAX = 16 };

/* The device is idle at each end of a range: what is in it is the call's, all of it. */
static Status take_ranges(RangeSession *session, CountedCall *call) {
    TRY(session_push(session, RANGE_SETTLE));
    TRY(counted_flush(call));
    TRY(session_pop(session));
    TRY(session_push(session, RANGE_CALL));
    TRY(counted_run(call));
    TRY(session_pop(session));
    TRY(session_push(session, RANGE_BEHIND));
    TRY(counted_flush(call));
    return session_pop(session);
}

static Status take_pass(RangeSession *session, CountedCall *call, bool *all) {
    TRY(session_start(session));
    const Status taken = take_ranges(session, call);
    if (taken != STATUS_OK) return taken; /* closing the session ends the pass */
    TRY(session_stop(session, all));
    return counted_put_away(call);
}

static Status count(RangeSession *session, CountedCall *call, ByteCounts *out) {
    bool all = false;
    for (; !all && out->calls < PASSES_MAX; out->calls++) TRY(take_pass(session, call, &all));
    if (!all) return status_fail(STATUS_UNSUPPORTED, "CUPTI: more than %d passes for %d counters", PASSES_MAX, METRIC_COUNT);
    TRY(session_evaluate(session));
    out->read = session->values[RANGE_CALL][METRIC_READ];
    out->written = session->values[RANGE_CALL][METRIC_WRITTEN];
    out->written_behind = session->values[RANGE_BEHIND][METRIC_WRITTEN];
    return STATUS_OK;
}

Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out) {
    *out = ByteCounts{};
    const Cupti *cupti = nullptr;
    TRY(cupti_get_ranges(&cupti));
    CountedCall call;
    RangeSession session = {};
    Status status = counted_open(&call, work, stream);
    if (status == STATUS_OK) {
        status = session_open(&session, cupti);
        if (status == STATUS_OK) status = count(&session, &call, out);
        session_close(&session);
    }
    counted_close(&call);
    return status;
}
#else
Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out) {
    (void)work, (void)stream;
    *out = ByteCounts{};
    const Cupti *cupti = nullptr;
    return cupti_get_ranges(&cupti);
}
#endif
