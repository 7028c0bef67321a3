#include "worker/worker.h"

#include "device/device.h"
#include "measure/ceilings.h"
#include "measure/counts.h"
#include "measure/limit.h"
#include "measure/measure.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 64 };

/* ---- The state of a GPU. */

/* Of nvml.h, whose ABI is kept: no header is needed to build. */
typedef struct nvmlDevice_st *NvmlDevice;
typedef struct Nvml {
    int (*init)(void);
    int (*handle)(const char *, NvmlDevice *);
    int (*temperature)(NvmlDevice, int sensor, unsigned *celsius);
    int (*reasons)(NvmlDevice, unsigned long long *);
    int (*energy)(NvmlDevice, unsigned long long *millijoules); /* NULL: as the next */
    int (*clock)(NvmlDevice, int type, unsigned *mhz);
    bool there;
} Nvml;

typedef struct Reason {
    unsigned long long bit;
    const char *name;
    bool throttles;
} Reason;

static const Reason REASONS[] = {
    {0x4, "software power cap", false},        {0x8, "hardware slowdown", true},          {0x10, "sync boost", false},
    {0x20, "software thermal slowdown", true}, {0x40, "hardware thermal slowdown", true}, {0x80, "hardware power brake", true},
};

static void find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static const Nvml *nvml(void) {
    static Nvml nvml;
    static bool tried;
    if (tried) return nvml.there ? &nvml : NULL;
    tried = true;
    const char *wanted = getenv("RUNGS_NVML");
    void *library = wanted && !*wanted ? NULL : dlopen(wanted ? wanted : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    find(library, "nvmlInit_v2", &nvml.init);
    find(library, "nvmlDeviceGetHandleByUUID", &nvml.handle);
    find(library, "nvmlDeviceGetTemperature", &nvml.temperature);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons);
    find(library, "nvmlDeviceGetTotalEnergyConsumption", &nvml.energy);
    find(library, "nvmlDeviceGetClockInfo", &nvml.clock);
    nvml.there = nvml.init && nvml.handle && nvml.temperature && nvml.reasons && nvml.init() == 0;
    return nvml.there ? &nvml : NULL;
}

bool conditions_now(const char *uuid, DeviceState *out) {
    const Nvml *library = uuid ? nvml() : NULL;
    NvmlDevice device = NULL;
    unsigned celsius = 0;
    *out = (DeviceState){.celsius = NAN};
    if (!library || library->handle(uuid, &device) != 0) return false;
    if (library->temperature(device, 0, &celsius) == 0) out->celsius = celsius;
    return library->reasons(device, &out->reasons) == 0;
}

Conditions conditions_between(const DeviceState *before, const DeviceState *after) {
    const unsigned long long seen = before->reasons | after->reasons;
    Conditions out = {.known = true, .celsius = {before->celsius, after->celsius}};
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++) {
        if (!(seen & REASONS[i].bit)) continue;
        snprintf(out.reasons[out.reason_count++], sizeof *out.reasons, "%s", REASONS[i].name);
        out.throttled = out.throttled || REASONS[i].throttles;
    }
    return out;
}

/* ---- Energy. */

static Status energy_gpu(double *joules, double *sm_mhz) {
    enum { SM = 1 };
    char uuid[48] = "";
    const Nvml *library = nvml();
    NvmlDevice device = NULL;
    unsigned long long millijoules = 0;
    unsigned mhz = 0;
    device_cuda_uuid(uuid);
    if (!library || !library->energy || !*uuid || library->handle(uuid, &device) != 0 || library->energy(device, &millijoules) != 0)
        return status_fail(STATUS_UNSUPPORTED, "not measurable: NVML has no energy counter of this device");
    *joules = 1e-3 * (double)millijoules;
    if (library->clock && library->clock(device, SM, &mhz) == 0) *sm_mhz = mhz;
    return STATUS_OK;
}

/* Of all packages, by RAPL. */
static Status energy_cpu(double *joules) {
    const char *wanted = getenv("RUNGS_RAPL"), *folder = wanted ? wanted : "/sys/class/powercap";
    bool any = false, more = true;
    *joules = 0;
    for (int i = 0; more; i++) {
        char path[512];
        unsigned long long microjoules;
        snprintf(path, sizeof path, "%s/intel-rapl:%d/energy_uj", folder, i);
        FILE *file = fopen(path, "re");
        more = file && fscanf(file, "%llu", &microjoules) == 1;
        if (more) *joules += 1e-6 * (double)microjoules, any = true;
        if (file) (void)fclose(file);
    }
    return any ? STATUS_OK : status_fail(STATUS_UNSUPPORTED, "not measurable: RAPL (%s/intel-rapl:*) cannot be read here", folder);
}

static Status energy(const Device *device, double *joules, double *sm_mhz) {
    return strcmp(device->kind, "cuda") == 0 ? energy_gpu(joules, sm_mhz) : energy_cpu(joules);
}

/* ---- Samples. */

/* Borrows the samples. */
static ModeTiming timing_of(const Samples *samples) {
    ModeTiming timing = {.count = samples->count,
                         .calls_per_sample = samples->calls_per_sample,
                         .between_seconds = samples->between_seconds,
                         .seconds = samples->seconds,
                         .sm_mhz = samples->sm_mhz};
    if (samples->stopped) snprintf(timing.stopped, sizeof timing.stopped, "%s", samples->stopped);
    snprintf(timing.clock, sizeof timing.clock, "%s", samples->clock ? samples->clock : "");
    if (samples->count == 0) snprintf(timing.why_none, sizeof timing.why_none, "%s", samples->why_none);
    return timing;
}

static bool throttled_now(void *uuid) {
    DeviceState now;
    return conditions_now(uuid, &now) && conditions_between(&now, &now).throttled;
}

/* One mode, with what NVML says before, during and after it. */
static Status time_mode(Mode mode, const Device *device, const MeasuredWork *work, SamplingPace pace, json_t **out) {
    const bool on_gpu = strcmp(device->kind, "cuda") == 0;
    DeviceState before, after;
    char uuid[48] = "";
    Samples samples = {0};
    if (on_gpu) device_cuda_uuid(uuid);
    const bool known = conditions_now(*uuid ? uuid : NULL, &before);
    Throttling throttling = {.now = throttled_now, .context = uuid};
    if (known) pace.throttling = &throttling;
    const Status status =
        on_gpu ? measure_gpu(mode, work, device->stream(), &pace, &samples) : measure_cpu(mode, work, &pace, &samples);
    ModeTiming timing = timing_of(&samples);
    if (status == STATUS_OK && known && conditions_now(uuid, &after)) {
        timing.conditions = conditions_between(&before, &after);
        timing.conditions.throttled = throttling.remain > 0; /* heat before and after them is not in the samples */
        timing.conditions.retaken = throttling.retaken, timing.conditions.remain = throttling.remain;
    }
    if (status == STATUS_OK) *out = samples_json(&timing);
    samples_free(&samples);
    return status;
}

static Status time_modes(const json_t *command, const Device *device, const MeasuredWork *work, json_t **timing) {
    const SamplingPace pace = {.min_samples = (size_t)json_integer_value(json_object_get(command, KEY_MIN_SAMPLES)),
                               .max_samples = (size_t)json_integer_value(json_object_get(command, KEY_MAX_SAMPLES)),
                               .seconds = json_number_value(json_object_get(command, KEY_SECONDS)),
                               .precision = json_number_value(json_object_get(command, KEY_PRECISION))};
    json_t *result = json_object(), *name;
    size_t i;
    json_array_foreach(json_object_get(command, KEY_MODES), i, name) {
        for (int mode = 0; mode < MEASURE_MODE_COUNT; mode++) {
            if (strcmp(json_string_value(name), mode_name((Mode)mode)) != 0) continue;
            json_t *timed = NULL;
            const Status status = time_mode((Mode)mode, device, work, pace, &timed);
            if (timed) json_object_set_new(result, mode_name((Mode)mode), timed);
            if (status == STATUS_OK) continue;
            json_decref(result);
            return status;
        }
    }
    *timing = result;
    return STATUS_OK;
}

static Status time_calls(const Device *device, const MeasuredWork *work, size_t calls, double *seconds) {
    if (strcmp(device->kind, "cuda") == 0) return measure_gpu_calls(work, calls, device->stream(), seconds);
    return measure_calls(work, calls, seconds);
}

static Patches patches; /* of the worker's case */

/* Did each call write what was spoilt for it? */
static Status check_written(const Worker *worker) {
    const void *element;
    TRY(patches_left(&patches, worker->device->stream(), &element));
    for (int i = 0; i < worker->out_count && element; i++) {
        const Array *out = &worker->out[i];
        const ptrdiff_t at = (const char *)element - (const char *)out->data;
        if (at < 0 || (size_t)at >= array_bytes(out)) continue;
        return status_fail(STATUS_CHECK, "in timing, hot or graph: output %s: a call did not write element %zu", out->name,
                           (size_t)at / dtype_size(out->dtype));
    }
    return STATUS_OK;
}

/* The highest state of a sample comes first, outside its time: then all are made. */
static Status between_calls(void *context, size_t state, bool called) {
    static uint64_t key;
    Worker *worker = context;
    const Inputs *inputs = &worker->inputs;
    void *stream = worker->device->stream();
    TRY(in_place_turn(worker, state, called));
    if (state >= patches.states || key != inputs->key) {
        TRY(check_written(worker));
        Array others[OP_MAX_ARRAYS];
        const Spoiling spoiling = {others, in_place_others(worker, others), inputs->key, buffer_poison_byte()};
        TRY(patches_make(&patches, inputs->rewriting, inputs->rewritten, &spoiling, state + 1, stream));
        key = inputs->key;
    }
    return patches_enqueue(&patches, state, called && !worker->left_out, stream);
}

static Status between_end(const Worker *worker, Status status) {
    if (status == STATUS_OK && patches.states > 0) status = check_written(worker);
    patches_free(&patches);
    return status;
}

static Status ceilings(const json_t *command, const Device *device, json_t **out) {
    Ceiling found[CEILINGS_MAX];
    int count = 0;
    const size_t hint = (size_t)json_integer_value(json_object_get(command, KEY_BYTES));
    TRY(strcmp(device->kind, "cuda") == 0 ? ceilings_cuda(device->stream(), hint, found, &count)
                                          : ceilings_cpu(hint, found, &count));
    *out = json_array();
    for (int i = 0; i < count; i++) {
        json_t *ceiling = json_pack("{s:s, s:s, s:s, s:I}", KEY_NAME, found[i].name, "unit", found[i].unit, "method",
                                    found[i].method, KEY_BYTES, (json_int_t)found[i].bytes);
        json_object_set_new(ceiling, KEY_VALUE, json_number_or_null(found[i].value));
        if (found[i].again > 0) json_object_set_new(ceiling, "again", json_number_or_null(found[i].again));
        json_object_set_new(ceiling, "low", json_number_or_null(found[i].low));
        json_object_set_new(ceiling, "high", json_number_or_null(found[i].high));
        json_array_append_new(*out, ceiling);
    }
    return STATUS_OK;
}

static Status wrong_stream(const Device *device, Status (*run)(void *), void *context, const Array *outputs, int count,
                           unsigned char poison, bool *stray) {
    *stray = false;
    return strcmp(device->kind, "cuda") == 0 ? wrong_stream_gpu(run, context, device->stream(), outputs, count, poison, stray)
                                             : STATUS_OK;
}

static Status disturb(const Device *device, uint64_t random, double call_seconds) {
    return strcmp(device->kind, "cuda") == 0 ? disturb_gpu(random, call_seconds) : STATUS_OK;
}

/* ---- Limits. */

static unsigned modes_of(const json_t *names) {
    unsigned modes = 0;
    for (size_t i = 0; i < json_array_size(names); i++)
        for (int m = 0; m < MEASURE_MODE_COUNT; m++)
            if (strcmp(json_string_value(json_array_get(names, i)), mode_name((Mode)m)) == 0) modes |= 1u << m;
    return modes;
}

static Status limit(const json_t *command, const Device *device, json_t **out) {
    const LimitTask task = {.read = json_number_value(json_object_get(command, KEY_BYTES_READ)),
                            .written = json_number_value(json_object_get(command, KEY_BYTES_WRITTEN)),
                            .modes = modes_of(json_object_get(command, KEY_MODES)),
                            .confirm = json_is_true(json_object_get(command, KEY_CONFIRM))};
    Limit found[MEASURE_MODE_COUNT];
    TRY(strcmp(device->kind, "cuda") == 0 ? limit_cuda(device->stream(), &task, found) : limit_cpu(&task, found));
    *out = limits_json(found, task.modes);
    return STATUS_OK;
}

/* ---- Counts. */

static KernelCount kernel_of(const KernelGroup *group) {
    const Activity *kernel = group->kernel;
    KernelCount out = {.launches = group->launches,
                       .seconds = group->seconds,
                       .registers = kernel->registers,
                       .shared_bytes = kernel->shared_bytes,
                       .occupancy = kernel->occupancy};
    memcpy(out.name, kernel->name, sizeof out.name);
    memcpy(out.grid, kernel->grid, sizeof out.grid);
    memcpy(out.block, kernel->block, sizeof out.block);
    return out;
}

static json_t *launches_json(const ActivityList *list) {
    KernelGroup groups[GROUPS_MAX];
    KernelCount kernels[GROUPS_MAX];
    size_t count = activity_groups(list, groups, GROUPS_MAX);
    if (count > GROUPS_MAX) count = GROUPS_MAX; /* the rest is in the sums */
    for (size_t i = 0; i < count; i++) kernels[i] = kernel_of(&groups[i]);
    const Activity *longest = activity_longest_kernel(list);
    const Counts counts = {.launches = (double)activity_count(list, ACTIVITY_KERNEL),
                           .copies = (double)activity_count(list, ACTIVITY_COPY),
                           .fills = (double)activity_count(list, ACTIVITY_FILL),
                           .kernel_seconds = activity_seconds(list, ACTIVITY_KERNEL),
                           .kernels = kernels,
                           .kernel_count = count,
                           .registers = longest ? (double)longest->registers : NAN,
                           .occupancy = longest ? longest->occupancy : (double)NAN};
    json_t *json = counts_json(&counts, WHAT_LAUNCHES);
    json_object_set_new(json, KEY_ELSEWHERE, json_integer((json_int_t)activity_elsewhere(list)));
    return json;
}

static Status count(const char *what, const Device *device, Status (*run)(void *), Status (*after)(void *), void *context,
                    json_t **counts) {
    const MeasuredWork work = {.run = run, .context = context, .after = after};
    if (strcmp(device->kind, "cuda") != 0) return status_fail(STATUS_UNSUPPORTED, "runs on the CPU");
    if (what && strcmp(what, WHAT_LAUNCHES) == 0) {
        ActivityList list;
        TRY(counts_activity(&work, device->stream(), &list));
        *counts = launches_json(&list);
        activity_free(&list);
        return STATUS_OK;
    }
    if (!what || strcmp(what, WHAT_BYTES) != 0) return status_fail(STATUS_INTERNAL, "count: unknown kind '%s'", what ? what : "");
    ByteCounts bytes;
    TRY(counts_bytes(&work, device->stream(), &bytes));
    *counts = counts_json(&(Counts){.bytes_read = bytes.read,
                                    .bytes_written = bytes.written + bytes.written_behind,
                                    .bytes_written_behind = bytes.written_behind,
                                    .profile = bytes.profile},
                          WHAT_BYTES);
    return STATUS_OK;
}

static json_t *reason_of(Status status) {
    return status == STATUS_OK ? json_null() : json_string(status_message());
}

static Status can_count(const json_t *command, const Device *device, json_t **answer) {
    const char *library = NULL;
    (void)command;
    *answer = json_object();
    Status status = counts_library(&library);
    json_object_set_new(*answer, KEY_LIBRARY, library ? json_string(library) : json_null());
    if (status == STATUS_OK) status = counts_try_activity(device->stream());
    json_object_set_new(*answer, KEY_LAUNCHES_REASON, reason_of(status));
    json_object_set_new(*answer, KEY_BYTES_REASON, reason_of(counts_try_bytes(device->stream())));
    return STATUS_OK;
}

const WorkerMeasure TIMING = {.time = time_modes,
                              .calls = time_calls,
                              .cool = measure_cool,
                              .cool_end = measure_cool_end,
                              .between = between_calls,
                              .between_end = between_end,
                              .ceilings = ceilings,
                              .limit = limit,
                              .facts = device_cuda_facts,
                              .wrong_stream = wrong_stream,
                              .energy = energy,
                              .disturb = disturb,
                              .disturb_end = disturb_gpu_end,
                              .count = count,
                              .can_count = can_count};
