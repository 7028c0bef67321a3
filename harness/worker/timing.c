#include "worker/timing.h"

#include "device/facts.h"
#include "measure/ceilings.h"
#include "measure/measure.h"
#include "measure/wrong_stream.h"
#include "record/row.h"
#include "worker/circumstances.h"
#include "worker/counters.h"
#include "worker/limits.h"

#include <math.h>
#include <string.h>

static json_t *samples_json(const Samples *samples) {
    json_t *seconds = json_array(), *clocks = samples->sm_mhz ? json_array() : json_null();
    for (size_t i = 0; i < samples->count; i++) {
        json_array_append_new(seconds, json_real(samples->seconds[i]));
        if (samples->sm_mhz) json_array_append_new(clocks, json_number_or_null(samples->sm_mhz[i]));
    }
    return json_pack("{s:o, s:o, s:I, s:s?, s:s?}", "samples", seconds, "sm_mhz", clocks, "calls_per_sample",
                     (json_int_t)samples->calls_per_sample, "clock", samples->clock, "why_none",
                     samples->count ? NULL : samples->why_none);
}

/* One mode, with what NVML says before and after it. */
static Status time_mode(MeasureMode mode, const Device *device, const MeasuredWork *work, const MeasureLimits *limits,
                        json_t **out) {
    const bool on_gpu = strcmp(device->kind, "cuda") == 0;
    Circumstances before, after;
    char uuid[48] = "";
    Samples samples = {0};
    if (on_gpu) device_cuda_uuid(uuid);
    const bool known = circumstances_now(*uuid ? uuid : NULL, &before);
    const Status status =
        on_gpu ? measure_gpu(mode, work, device->stream(), limits, &samples) : measure_cpu(mode, work, limits, &samples);
    if (status == STATUS_OK) *out = samples_json(&samples);
    if (status == STATUS_OK && known && circumstances_now(uuid, &after))
        json_object_set_new(*out, "circumstances", circumstances_json(&before, &after));
    samples_free(&samples);
    return status;
}

static Status time_modes(const json_t *command, const Device *device, const MeasuredWork *work, json_t **timing) {
    const MeasureLimits limits = {.min_samples = (size_t)json_integer_value(json_object_get(command, "min_samples")),
                                  .max_samples = (size_t)json_integer_value(json_object_get(command, "max_samples")),
                                  .seconds = json_number_value(json_object_get(command, "seconds"))};
    json_t *result = json_object(), *name;
    size_t i;
    json_array_foreach(json_object_get(command, "modes"), i, name) {
        for (int mode = 0; mode < MEASURE_MODE_COUNT; mode++) {
            if (strcmp(json_string_value(name), measure_mode_name((MeasureMode)mode)) != 0) continue;
            json_t *timed = NULL;
            const Status status = time_mode((MeasureMode)mode, device, work, &limits, &timed);
            if (timed) json_object_set_new(result, measure_mode_name((MeasureMode)mode), timed);
            if (status == STATUS_OK) continue;
            json_decref(result);
            return status;
        }
    }
    *timing = result;
    return STATUS_OK;
}

static Status ceilings(const json_t *command, const Device *device, json_t **out) {
    Ceiling found[CEILINGS_MAX];
    int count = 0;
    const size_t hint = (size_t)json_integer_value(json_object_get(command, "bytes"));
    TRY(strcmp(device->kind, "cuda") == 0 ? ceilings_cuda(device->stream(), hint, found, &count)
                                          : ceilings_cpu(hint, found, &count));
    *out = json_array();
    for (int i = 0; i < count; i++) {
        json_t *ceiling = json_pack("{s:s, s:s, s:s, s:I}", "name", found[i].name, "unit", found[i].unit, "method", found[i].method,
                                    "bytes", (json_int_t)found[i].bytes);
        json_object_set_new(ceiling, "value", json_number_or_null(found[i].value));
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

const WorkerMeasure TIMING = {.time = time_modes,
                              .ceilings = ceilings,
                              .limit = limits_take,
                              .facts = device_cuda_facts,
                              .wrong_stream = wrong_stream,
                              .count = counters_take,
                              .can_count = counters_check};
