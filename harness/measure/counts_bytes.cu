/* Device memory read and written by one call, by CUPTI's range profiler: hardware counters, which take a permission. */
#include "measure/cupti.cuh"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if RUNGS_CUPTI_RANGES
/* Where a device lacks one of the others, only the first two, the bytes, are counted. */
enum {
    METRIC_READ,
    METRIC_WRITTEN,
    BYTE_METRICS,
    LOAD_SECTORS = BYTE_METRICS,
    LOAD_REQUESTS,
    STORE_SECTORS,
    STORE_REQUESTS,
    LOCAL_LOADS,
    LOCAL_STORES,
    BANK_CONFLICTS,
    SM_CYCLES,
    SM_CYCLES_MEAN,
    SM_CYCLES_MOST,
    WARPS_ACTIVE,
    ISSUE_ACTIVE,
    LANES,
    STALLED_BARRIER,
    STALLED_MEMORY,
    METRIC_COUNT
};
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
    size_t metrics; /* how many of METRICS */
    CUpti_Profiler_Host_Object *host;
    CUpti_RangeProfiler_Object *profiler;
    Image availability, config, counters;
    double values[RANGE_COUNT][METRIC_COUNT];
};

static const char *METRICS[METRIC_COUNT] = {"dram__bytes_read.sum",
                                            "dram__bytes_write.sum",
                                            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
                                            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
                                            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
                                            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
                                            "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
                                            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
                                            "sm__cycles_active.sum",
                                            "sm__cycles_active.avg",
                                            "sm__cycles_active.max",
                                            "sm__warps_active.avg.pct_of_peak_sustained_active",
                                            "smsp__issue_active.avg.pct_of_peak_sustained_active",
                                            "smsp__thread_inst_executed_per_inst_executed.ratio",
                                            "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
                                            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"};
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
    add.numMetrics = session->metrics;
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
    size.numMetrics = session->metrics;
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

static Status session_open(RangeSession *session, const Cupti *cupti, size_t metrics) {
    *session = RangeSession{};
    session->metrics = metrics;
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
    values.numMetrics = session->metrics;
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

/* Stalls are told as warps of a scheduler in a cycle that issues. */
static Profile profile_of(const double *values) {
    const double scheduler_warps = 16 * values[WARPS_ACTIVE] / 100, issuing = values[ISSUE_ACTIVE] / 100;
    Profile profile = {};
    profile.load_sectors = values[LOAD_SECTORS], profile.load_requests = values[LOAD_REQUESTS];
    profile.store_sectors = values[STORE_SECTORS], profile.store_requests = values[STORE_REQUESTS];
    profile.local_sectors = values[LOCAL_LOADS] + values[LOCAL_STORES];
    profile.bank_conflicts = values[BANK_CONFLICTS];
    profile.sm_cycles = values[SM_CYCLES], profile.sm_cycles_mean = values[SM_CYCLES_MEAN];
    profile.sm_cycles_most = values[SM_CYCLES_MOST];
    profile.warps_active = values[WARPS_ACTIVE] / 100, profile.issue_active = issuing;
    profile.lanes = values[LANES];
    profile.stalled_barrier = values[STALLED_BARRIER] * issuing / scheduler_warps;
    profile.stalled_memory = values[STALLED_MEMORY] * issuing / scheduler_warps;
    return profile;
}

static Status count(RangeSession *session, CountedCall *call, ByteCounts *out) {
    bool all = false;
    for (; !all && out->calls < PASSES_MAX; out->calls++) TRY(take_pass(session, call, &all));
    if (!all) return status_fail(STATUS_UNSUPPORTED, "CUPTI: more than %d passes for %zu counters", PASSES_MAX, session->metrics);
    TRY(session_evaluate(session));
    out->read = session->values[RANGE_CALL][METRIC_READ];
    out->written = session->values[RANGE_CALL][METRIC_WRITTEN];
    out->written_behind = session->values[RANGE_BEHIND][METRIC_WRITTEN];
    if (session->metrics == METRIC_COUNT) out->profile = profile_of(session->values[RANGE_CALL]);
    return STATUS_OK;
}

Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out) {
    *out = ByteCounts{};
    out->profile.sm_cycles = NAN;
    const Cupti *cupti = nullptr;
    TRY(cupti_get_ranges(&cupti));
    CountedCall call;
    RangeSession session = {};
    Status status = counted_open(&call, work, stream);
    if (status == STATUS_OK) {
        status = session_open(&session, cupti, METRIC_COUNT);
        if (status != STATUS_OK) {
            session_close(&session);
            status = session_open(&session, cupti, BYTE_METRICS);
        }
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
