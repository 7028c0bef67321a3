#include "pipeline/timed.h"

#include "base/mode.h"
#include "base/poison.h"
#include "measure/sampling.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const size_t LARGE_BYTES = (size_t)1 << 30; /* of inputs and outputs: one check in each mode, and after the last sample */

/* A number below `below`, unknown to the worker. */
static Status draw(size_t below, size_t *number) {
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return status_fail(STATUS_IO, "getrandom: %s", strerror(errno));
    *number = (size_t)(random % below);
    return STATUS_OK;
}

static bool is_large(const Instance *instance) {
    size_t bytes = instance_input_bytes(instance, DATA_FIRST);
    for (int i = 0; i < instance->op->out_count; i++) bytes += array_bytes(&instance->out[i]);
    return bytes > LARGE_BYTES;
}

static bool has_sample(const json_t *checks, size_t sample) {
    size_t i;
    json_t *check;
    json_array_foreach((json_t *)checks, i, check) {
        if (json_integer_value(json_object_get(check, "sample")) == (json_int_t)sample) return true;
    }
    return false;
}

/* Cold: a sample for each set among the first `samples`. Other modes: one sample, of any set. */
static Status draw_checks(const Timed *timed, Mode mode, size_t samples, json_t **checks) {
    const Instance *instance = timed->instance;
    const size_t from = (size_t)instance_timed(instance), sets = (size_t)instance_sets(instance) - from;
    size_t first = 0;
    TRY(draw(sets, &first));
    const size_t wanted = mode == MODE_COLD && !is_large(instance) ? sets : 1, count = wanted < samples ? wanted : samples;
    *checks = json_array();
    for (size_t k = 0; k < count; k++) {
        size_t sample = 0;
        do TRY(draw(samples, &sample));
        while (has_sample(*checks, sample));
        json_array_append_new(
            *checks, json_pack("{s:I, s:I}", "sample", (json_int_t)sample, "set", (json_int_t)(from + (first + k) % sets)));
    }
    return STATUS_OK;
}

static Status make_command(const Timed *timed, json_t **command) {
    const Session *session = timed->session;
    const RunOptions *o = session->options;
    const size_t least =
        sampling_least(&(MeasureLimits){.min_samples = o->min_samples, .seconds = o->seconds_per_mode}, timed->call_seconds);
    json_t *modes = json_array(), *checks = json_object();
    *command = json_pack("{s:s, s:o, s:I, s:I, s:f, s:i, s:o}", "do", "time", "modes", modes, "min_samples", (json_int_t)least,
                         "max_samples", (json_int_t)o->max_samples, "seconds", o->seconds_per_mode, "from_set",
                         (int)instance_timed(timed->instance), "checks", checks);
    for (int m = 0; m < MODE_COUNT; m++) {
        json_t *drawn = NULL;
        if (m == MODE_FIRST || !(session->item->modes & (1u << m))) continue;
        TRY(draw_checks(timed, (Mode)m, least, &drawn));
        json_array_append_new(modes, json_string(mode_name((Mode)m)));
        json_object_set_new(checks, mode_name((Mode)m), drawn);
    }
    return STATUS_OK;
}

/* A few elements suffice: they count as never written. */
void timed_poison(Instance *instance) {
    enum { POISONED_BYTES = 4096 };
    for (int i = 0; i < instance->op->out_count; i++) {
        const size_t bytes = array_bytes(&instance->out[i]);
        memset(instance->out[i].data, POISONS[instance->poison], bytes < POISONED_BYTES ? bytes : POISONED_BYTES);
    }
}

static Status judge(const Timed *timed, const json_t *reply, json_t *checked, bool *pass) {
    const json_t *check = json_object_get(reply, "check");
    const char *mode = json_string_value(json_object_get(check, "mode"));
    const json_int_t sample = json_integer_value(json_object_get(check, "sample")),
                     set = json_integer_value(json_object_get(check, "set"));
    char when[128];
    if (!mode || set < 0 || set >= DATA_COUNT || !timed->instance->loaded[set])
        return status_fail(STATUS_INTERNAL, "the worker asked to check a sample that was not scheduled");
    snprintf(when, sizeof when, "in timing, %s sample %lld, data set %lld: ", mode, (long long)sample, (long long)set);
    TRY(session_take_counts(timed->instance, reply));
    TRY(timed->judge(timed->context, (DataSet)set, when, pass));
    json_t *list = json_object_get(checked, mode);
    if (!list) json_object_set_new(checked, mode, list = json_array());
    if (!has_sample(list, (size_t)sample))
        json_array_append_new(list, json_pack("{s:I, s:I}", "sample", (long long)sample, "set", (long long)set));
    return STATUS_OK;
}

/* Every sample that was to be compared has been. */
static Status all_checked(const json_t *checks, const json_t *checked, const char *mode, size_t count) {
    const bool back_to_back = strcmp(mode, mode_name(MODE_HOT)) == 0 || strcmp(mode, mode_name(MODE_GRAPH)) == 0;
    const json_t *seen = json_object_get(checked, mode);
    size_t i;
    json_t *check;
    bool all = !back_to_back || has_sample(seen, count - 1);
    json_array_foreach(json_object_get(checks, mode), i, check) all =
        all && has_sample(seen, (size_t)json_integer_value(json_object_get(check, "sample")));
    return all ? STATUS_OK
               : status_fail(STATUS_INTERNAL, "the worker did not show every sample of %s that was to be compared", mode);
}

static Status add_checked(const json_t *checks, const json_t *checked, json_t *timing) {
    const char *mode;
    json_t *samples;
    json_object_foreach(timing, mode, samples) {
        const size_t count = json_array_size(json_object_get(samples, "samples"));
        if (count == 0) continue;
        TRY(all_checked(checks, checked, mode, count));
        json_object_set(samples, "checked", json_object_get(checked, mode));
    }
    return STATUS_OK;
}

/* The worker shows one sample after the other, and at last replies with the times. */
static Status converse(const Timed *timed, const json_t *command, json_t *checked, json_t **timing) {
    json_t *go_on = json_pack("{s:s}", "do", "continue"), *reply = NULL;
    bool pass = true;
    timed_poison(timed->instance);
    Status status = child_ask(timed->child, command, timed->timeout_seconds, &reply);
    while (status == STATUS_OK && pass && json_object_get(reply, "check")) {
        pass = false;
        status = judge(timed, reply, checked, &pass);
        json_decref(reply);
        reply = NULL;
        timed_poison(timed->instance);
        if (status == STATUS_OK && pass) status = child_ask(timed->child, go_on, timed->timeout_seconds, &reply);
    }
    if (status == STATUS_OK && pass) *timing = json_incref(json_object_get(reply, "timing"));
    json_decref(reply);
    json_decref(go_on);
    return status;
}

Status timed_take(const Timed *timed, json_t **timing) {
    json_t *command = NULL, *checked = json_object();
    *timing = NULL;
    Status status = make_command(timed, &command);
    if (status == STATUS_OK) status = converse(timed, command, checked, timing);
    if (status == STATUS_OK && *timing) status = add_checked(json_object_get(command, "checks"), checked, *timing);
    if (status != STATUS_OK) {
        json_decref(*timing);
        *timing = NULL;
    }
    json_decref(command);
    json_decref(checked);
    return status;
}
