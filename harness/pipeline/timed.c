#include "pipeline/timed.h"

#include "base/mode.h"
#include "base/poison.h"
#include "measure/sampling.h"
#include "protocol.h"

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

/* Samples of each mode: those that are to be compared, or have been. */
typedef struct Checks {
    CheckedSample list[MODE_COUNT][CHECKED_MAX];
    size_t count[MODE_COUNT];
} Checks;

static bool has_sample(const Checks *checks, Mode mode, size_t sample) {
    for (size_t i = 0; i < checks->count[mode]; i++)
        if (checks->list[mode][i].sample == sample) return true;
    return false;
}

/* Cold: a sample for each set among the first `samples`. Other modes: one sample, of any set. */
static Status draw_checks(const Timed *timed, Mode mode, size_t samples, Checks *checks) {
    const Instance *instance = timed->instance;
    const size_t from = (size_t)instance_timed(instance), sets = (size_t)instance_sets(instance) - from;
    size_t first = 0;
    TRY(draw(sets, &first));
    const size_t wanted = mode == MODE_COLD && !is_large(instance) ? sets : 1, count = wanted < samples ? wanted : samples;
    for (size_t k = 0; k < count; k++) {
        size_t sample = 0;
        do TRY(draw(samples, &sample));
        while (has_sample(checks, mode, sample));
        checks->list[mode][checks->count[mode]++] = (CheckedSample){sample, (int)(from + (first + k) % sets)};
    }
    return STATUS_OK;
}

static bool is_asked_for(const Timed *timed, Mode mode) {
    return mode != MODE_FIRST && timed->session->item->modes & (1u << mode);
}

static json_t *checks_json(const Checks *checks, Mode mode) {
    json_t *list = json_array();
    for (size_t i = 0; i < checks->count[mode]; i++)
        json_array_append_new(list, json_pack("{s:I, s:i}", KEY_SAMPLE, (json_int_t)checks->list[mode][i].sample, KEY_SET,
                                              checks->list[mode][i].set));
    return list;
}

static Status make_command(const Timed *timed, Checks *drawn, json_t **command) {
    const RunOptions *o = timed->session->options;
    const size_t least =
        sampling_least(&(MeasureLimits){.min_samples = o->min_samples, .seconds = o->seconds_per_mode}, timed->call_seconds);
    for (int m = 0; m < MODE_COUNT; m++)
        if (is_asked_for(timed, (Mode)m)) TRY(draw_checks(timed, (Mode)m, least, drawn));
    json_t *modes = json_array(), *checks = json_object();
    for (int m = 0; m < MODE_COUNT; m++) {
        if (!is_asked_for(timed, (Mode)m)) continue;
        json_array_append_new(modes, json_string(mode_name((Mode)m)));
        json_object_set_new(checks, mode_name((Mode)m), checks_json(drawn, (Mode)m));
    }
    *command = json_pack("{s:s, s:o, s:I, s:I, s:f, s:i, s:o}", KEY_DO, DO_TIME, KEY_MODES, modes, KEY_MIN_SAMPLES,
                         (json_int_t)least, KEY_MAX_SAMPLES, (json_int_t)o->max_samples, KEY_SECONDS, o->seconds_per_mode,
                         KEY_FROM_SET, (int)instance_timed(timed->instance), KEY_CHECKS, checks);
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

static Status judge(const Timed *timed, const CheckReply *check, const json_t *reply, Checks *seen, bool *pass) {
    const int set = check->sample.set;
    char when[128];
    if (check->mode == MODE_COUNT || set < 0 || set >= DATA_COUNT || !timed->instance->loaded[set] ||
        seen->count[check->mode] == CHECKED_MAX)
        return status_fail(STATUS_INTERNAL, "the worker asked to check a sample that was not scheduled");
    snprintf(when, sizeof when, "in timing, %s sample %zu, data set %d: ", mode_name(check->mode), check->sample.sample, set);
    TRY(session_take_counts(timed->instance, reply));
    TRY(timed->judge(timed->context, (DataSet)set, when, pass));
    if (!has_sample(seen, check->mode, check->sample.sample)) seen->list[check->mode][seen->count[check->mode]++] = check->sample;
    return STATUS_OK;
}

/* Every sample that was to be compared has been. */
static Status all_checked(const Checks *drawn, const Checks *seen, Mode mode, size_t count) {
    bool all = (mode != MODE_HOT && mode != MODE_GRAPH) || has_sample(seen, mode, count - 1);
    for (size_t i = 0; i < drawn->count[mode]; i++) all = all && has_sample(seen, mode, drawn->list[mode][i].sample);
    return all ? STATUS_OK
               : status_fail(STATUS_INTERNAL, "the worker did not show every sample of %s that was to be compared",
                             mode_name(mode));
}

static Status add_checked(const Timed *timed, const Checks *drawn, const Checks *seen, ModeTiming timing[MODE_COUNT]) {
    for (int m = 0; m < MODE_COUNT; m++) {
        if (!is_asked_for(timed, (Mode)m)) timing[m].taken = false, timing[m].count = 0; /* whatever the worker replies */
        if (timing[m].count == 0) continue;
        TRY(all_checked(drawn, seen, (Mode)m, timing[m].count));
        timing[m].checked_count = seen->count[m];
        memcpy(timing[m].checked, seen->list[m], sizeof timing[m].checked);
    }
    return STATUS_OK;
}

/* The worker shows one sample after the other, and at last replies with the times. */
static Status converse(const Timed *timed, const json_t *command, Checks *seen, ModeTiming timing[MODE_COUNT], bool *taken) {
    json_t *go_on = json_pack("{s:s}", KEY_DO, DO_CONTINUE), *reply = NULL;
    bool pass = true;
    timed_poison(timed->instance);
    Status status = child_ask(timed->child, command, timed->timeout_seconds, &reply);
    for (CheckReply check; status == STATUS_OK && pass && (check = reply_check(reply)).asked;) {
        pass = false;
        status = judge(timed, &check, reply, seen, &pass);
        json_decref(reply);
        reply = NULL;
        timed_poison(timed->instance);
        if (status == STATUS_OK && pass) status = child_ask(timed->child, go_on, timed->timeout_seconds, &reply);
    }
    *taken = status == STATUS_OK && pass && reply_timing(reply, timing);
    json_decref(reply);
    json_decref(go_on);
    return status;
}

Status timed_take(const Timed *timed, ModeTiming timing[MODE_COUNT], bool *taken) {
    Checks drawn = {0}, seen = {0};
    json_t *command = NULL;
    *taken = false;
    Status status = make_command(timed, &drawn, &command);
    if (status == STATUS_OK) status = converse(timed, command, &seen, timing, taken);
    if (*taken) status = add_checked(timed, &drawn, &seen, timing);
    if (status != STATUS_OK) {
        timing_free(timing);
        *taken = false;
    }
    json_decref(command);
    return status;
}
