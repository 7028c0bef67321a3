#include "record/row.h"

#include "base/jsontext.h"
#include "protocol.h"

#include <math.h>
#include <string.h>

static double number_of(const json_t *json) {
    return json_is_number(json) ? json_number_value(json) : NAN;
}

PrepareReply reply_prepare(const json_t *reply) {
    PrepareReply out = {.seconds = number_of(json_object_get(reply, KEY_PREPARE_SECONDS))};
    launch_read(json_object_get(reply, KEY_LAUNCH), &out.launch);
    return out;
}

RunReply reply_run(const json_t *reply) {
    RunReply out = {.seconds = json_number_value(json_object_get(reply, KEY_SECONDS)),
                    .threads = (int)json_integer_value(json_object_get(reply, KEY_THREADS))};
    launch_read(json_object_get(reply, KEY_LAUNCHED), &out.launch);
    return out;
}

bool reply_elements(const json_t *reply, int i, size_t *elements) {
    const json_t *count = json_array_get(json_object_get(reply, KEY_COUNTS), (size_t)i);
    *elements = (size_t)json_integer_value(count);
    return json_is_integer(count) || json_is_null(count);
}

SampleReply reply_sample(const json_t *reply) {
    static const char *const KEYS[] = {[SAMPLE_NEXT] = KEY_NEXT, [SAMPLE_TAKEN] = KEY_TAKEN, [SAMPLE_CHECK] = KEY_CHECK};
    SampleReply out = {.what = SAMPLE_NONE, .mode = MODE_COUNT};
    for (int what = SAMPLE_NEXT; what <= SAMPLE_CHECK; what++) {
        const json_t *place = json_object_get(reply, KEYS[what]);
        if (!place) continue;
        out.what = what;
        if (!mode_parse(text_of(place, KEY_MODE), &out.mode)) out.mode = MODE_COUNT;
        out.sample = (size_t)json_integer_value(json_object_get(place, KEY_SAMPLE));
        out.of = (size_t)json_integer_value(json_object_get(place, KEY_OF));
        out.seconds = number_of(json_object_get(place, KEY_SECONDS));
        out.longer = json_is_true(json_object_get(place, KEY_LONGER));
    }
    return out;
}

bool reply_timing(const json_t *reply, ModeTiming timing[MODE_COUNT]) {
    const json_t *times = json_object_get(reply, KEY_TIMING);
    if (times) timing_read(times, timing);
    return times != NULL;
}

const char *reply_counts(const json_t *reply, Counts *counts) {
    counts_read(json_object_get(reply, KEY_COUNTS), counts);
    return json_string_value(json_object_get(reply, KEY_COUNTS_REASON));
}

double ceiling_value(const json_t *ceilings, const char *name) {
    size_t i;
    json_t *ceiling;
    json_array_foreach((json_t *)ceilings, i, ceiling) {
        if (strcmp(text_of(ceiling, KEY_NAME), name) == 0) return number_of(json_object_get(ceiling, KEY_VALUE));
    }
    return NAN;
}

void reply_end(const json_t *reply, size_t *kept_bytes, bool *restless) {
    *kept_bytes = (size_t)json_integer_value(json_object_get(reply, KEY_KEPT_BYTES));
    *restless = json_is_true(json_object_get(reply, KEY_RESTLESS));
}

void reply_counting(const json_t *reply, const char **library, const char **no_launches, const char **no_bytes) {
    const json_t *counting = json_object_get(reply, KEY_COUNTING);
    *library = json_string_value(json_object_get(counting, KEY_LIBRARY));
    *no_launches = json_string_value(json_object_get(counting, KEY_LAUNCHES_REASON));
    *no_bytes = json_string_value(json_object_get(counting, KEY_BYTES_REASON));
}
