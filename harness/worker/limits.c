#include "worker/limits.h"

#include "measure/limit.h"
#include "record/row.h"

#include <string.h>

static unsigned modes_of(const json_t *names) {
    unsigned modes = 0;
    for (size_t i = 0; i < json_array_size(names); i++)
        for (int m = 0; m < MEASURE_MODE_COUNT; m++)
            if (strcmp(json_string_value(json_array_get(names, i)), measure_mode_name((MeasureMode)m)) == 0) modes |= 1u << m;
    return modes;
}

Status limits_take(const json_t *command, const Device *device, json_t **limit) {
    const LimitTask task = {.read = json_number_value(json_object_get(command, "bytes_read")),
                            .written = json_number_value(json_object_get(command, "bytes_written")),
                            .modes = modes_of(json_object_get(command, "modes")),
                            .confirm = json_is_true(json_object_get(command, "confirm"))};
    Limit found[MEASURE_MODE_COUNT];
    TRY(strcmp(device->kind, "cuda") == 0 ? limit_cuda(device->stream(), &task, found) : limit_cpu(&task, found));
    *limit = json_object();
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (task.modes & 1u << m)
            json_object_set_new(
                *limit, measure_mode_name((MeasureMode)m),
                json_pack("{s:o, s:s}", "seconds", json_number_or_null(found[m].seconds), "kernel", found[m].kernel));
    return STATUS_OK;
}
