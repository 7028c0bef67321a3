#include "pipeline/evaluate.h"

#include "base/poison.h"
#include "measure/measure.h"
#include "protocol.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void decide(Session *s, Verdict verdict, const char *reason) {
    row_decide(s->row, verdict, reason);
    s->decided = true;
}

void decide_by_status(Session *s, Status status) {
    decide(s,
           status == STATUS_UNSUPPORTED ? VERDICT_SKIP
           : status == STATUS_CHECK     ? VERDICT_FAIL
                                        : VERDICT_ERROR,
           status_message());
}

/* ---- Outputs against the reference. */

static Status judge_exactly(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    const Array *expected;
    ExactReport *report = &out->errors.bytes;
    TRY(instance_exact(instance, set, bound, &expected));
    exact_compare(&instance->given[index], &expected[index], POISONS[instance->poison], report);
    out->errors.exact = true;
    out->pass = report->pass;
    out->judgeable = true;
    if (report->pass)
        snprintf(out->words, sizeof out->words, "all %zu elements are exact", report->count);
    else
        exact_explain(report, instance->given, expected, instance->op->out_count, index, out->words, sizeof out->words);
    return STATUS_OK;
}

static Status judge_by_bound(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    const Reference *reference;
    ErrorReport *report = &out->errors.bounded;
    const Array *given = &instance->given[index];
    TRY(instance_reference(instance, set, bound, &reference));
    norms_compare_poisoned(given, reference[index].value, reference[index].tolerance, POISONS[instance->poison], report);
    out->pass = report->pass || report->undecided;
    out->judgeable = report->judgeable;
    out->undecided = report->undecided;
    out->vacuous = report->vacuous;
    if (out->pass && !report->judgeable)
        snprintf(out->words, sizeof out->words,
                 "%s: not judgeable (the tolerance is no less than the value in %.3g%% of the elements, so 0 would pass there)",
                 given->name, 100 * report->vacuous);
    else if (out->pass)
        snprintf(out->words, sizeof out->words, "largest error %.3g of the bound '%s'", report->max_ratio,
                 instance->op->bounds[bound].name);
    else
        norms_explain(report, given->name, instance->op->in_count == 1 ? &instance->in[set][0] : NULL, out->words,
                      sizeof out->words);
    return STATUS_OK;
}

Status judge_output(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    *out = (Judgement){.pass = false};
    snprintf(out->errors.output, sizeof out->errors.output, "%s", instance->out[index].name);
    return (instance->op->exact ? judge_exactly : judge_by_bound)(instance, set, bound, index, out);
}

Status compare_outputs(Session *s, DataSet set, const char *when, bool *undecided) {
    Instance *instance = s->instance;
    OutputErrors errors[OP_MAX_ARRAYS];
    char reason[1024] = "";
    int given = 0;
    bool pass = true, verified = !undecided || set != DATA_FIRST;
    for (int i = 0; i < instance->op->out_count; i++) {
        Judgement judgement;
        if (!registry_gives(s->choice->entry, instance->out[i].name)) continue;
        TRY(judge_output(instance, set, s->bound, i, &judgement));
        errors[given++] = judgement.errors;
        if (undecided && judgement.undecided) *undecided = true;
        if (judgement.pass && judgement.judgeable) verified = true;
        if (judgement.pass && judgement.judgeable) continue;
        if (reason[0] == '\0' || (pass && !judgement.pass)) snprintf(reason, sizeof reason, "%s", judgement.words);
        pass = pass && judgement.pass;
    }
    if (given == 0) { /* a library whose "outputs" are none of the op's */
        pass = false;
        snprintf(reason, sizeof reason, "it gives none of the outputs of %s", instance->op->name);
    }
    if ((undecided && set == DATA_FIRST) || !pass) row_set_errors(s->row, errors, given);
    if (pass && verified) return STATUS_OK;
    char text[1200];
    snprintf(text, sizeof text, "%s%s", when, reason);
    decide(s, pass ? VERDICT_SKIP : VERDICT_FAIL, text);
    return STATUS_OK;
}

static Status tell_on(const Session *s, DataSet set) {
    Instance *instance = s->instance;
    for (int i = 0; i < instance->op->out_count; i++) {
        Definitions of;
        if (!registry_gives(s->choice->entry, instance->out[i].name)) continue;
        TRY(instance_definitions(instance, set, s->bound, i, &of));
        s->row->told |= of.told;
        s->row->untold |= of.applies;
    }
    s->row->untold &= ~s->row->told;
    return STATUS_OK;
}

Status tell_definitions(Session *s) {
    s->row->wrong = s->instance->op->wrong;
    if (!s->row->wrong) return STATUS_OK;
    TRY(tell_on(s, DATA_FIRST));
    return s->row->untold && s->row->reverified ? tell_on(s, DATA_SECOND) : STATUS_OK;
}

/* ---- Timed samples. */

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
static Status draw_checks(const Session *s, Mode mode, size_t samples, Checks *checks) {
    const Instance *instance = s->instance;
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

static bool is_asked_for(const Session *s, Mode mode) {
    return mode != MODE_FIRST && s->item->modes & (1u << mode);
}

static json_t *checks_json(const Checks *checks, Mode mode) {
    json_t *list = json_array();
    for (size_t i = 0; i < checks->count[mode]; i++)
        json_array_append_new(list, json_pack("{s:I, s:i}", KEY_SAMPLE, (json_int_t)checks->list[mode][i].sample, KEY_SET,
                                              checks->list[mode][i].set));
    return list;
}

static Status make_command(const Session *s, Checks *drawn, json_t **command) {
    const RunOptions *o = s->options;
    const size_t least =
        sampling_least(&(MeasureLimits){.min_samples = o->min_samples, .seconds = o->seconds_per_mode}, s->first_seconds);
    for (int m = 0; m < MODE_COUNT; m++)
        if (is_asked_for(s, (Mode)m)) TRY(draw_checks(s, (Mode)m, least, drawn));
    json_t *modes = json_array(), *checks = json_object();
    for (int m = 0; m < MODE_COUNT; m++) {
        if (!is_asked_for(s, (Mode)m)) continue;
        json_array_append_new(modes, json_string(mode_name((Mode)m)));
        json_object_set_new(checks, mode_name((Mode)m), checks_json(drawn, (Mode)m));
    }
    *command = json_pack("{s:s, s:o, s:I, s:I, s:f, s:i, s:o}", KEY_DO, DO_TIME, KEY_MODES, modes, KEY_MIN_SAMPLES,
                         (json_int_t)least, KEY_MAX_SAMPLES, (json_int_t)o->max_samples, KEY_SECONDS, o->seconds_per_mode,
                         KEY_FROM_SET, (int)instance_timed(s->instance), KEY_CHECKS, checks);
    return STATUS_OK;
}

static Status judge(Session *s, const CheckReply *check, const json_t *reply, Checks *seen) {
    const int set = check->sample.set;
    char when[128];
    if (check->mode == MODE_COUNT || set < 0 || set >= DATA_COUNT || !s->instance->loaded[set] ||
        seen->count[check->mode] == CHECKED_MAX)
        return status_fail(STATUS_INTERNAL, "the worker asked to check a sample that was not scheduled");
    snprintf(when, sizeof when, "in timing, %s sample %zu, data set %d: ", mode_name(check->mode), check->sample.sample, set);
    TRY(session_take_counts(s->instance, reply));
    TRY(compare_outputs(s, (DataSet)set, when, NULL));
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

static Status add_checked(const Session *s, const Checks *drawn, const Checks *seen, ModeTiming timing[MODE_COUNT]) {
    for (int m = 0; m < MODE_COUNT; m++) {
        if (!is_asked_for(s, (Mode)m)) timing[m].taken = false, timing[m].count = 0; /* whatever the worker replies */
        if (timing[m].count == 0) continue;
        TRY(all_checked(drawn, seen, (Mode)m, timing[m].count));
        timing[m].checked_count = seen->count[m];
        memcpy(timing[m].checked, seen->list[m], sizeof timing[m].checked);
    }
    return STATUS_OK;
}

/* The worker shows one sample after the other, and at last replies with the times. */
static Status converse(Session *s, double timeout, json_t *command, Checks *seen, bool *taken) {
    json_t *reply = NULL;
    instance_poison(s->instance);
    Status status = child_ask(s->worker->child, command, timeout, &reply);
    for (CheckReply check; status == STATUS_OK && !s->decided && (check = reply_check(reply)).asked;) {
        status = judge(s, &check, reply, seen);
        json_decref(reply);
        reply = NULL;
        instance_poison(s->instance);
        if (status == STATUS_OK && !s->decided)
            status = child_ask(s->worker->child, json_pack("{s:s}", KEY_DO, DO_CONTINUE), timeout, &reply);
    }
    *taken = status == STATUS_OK && !s->decided && reply_timing(reply, s->row->timing);
    json_decref(reply);
    return status;
}

Status timed_take(Session *s, double timeout_seconds, bool *taken) {
    Checks drawn = {0}, seen = {0};
    json_t *command = NULL;
    *taken = false;
    Status status = make_command(s, &drawn, &command);
    if (status == STATUS_OK) status = converse(s, timeout_seconds, command, &seen, taken);
    if (*taken) status = add_checked(s, &drawn, &seen, s->row->timing);
    if (status != STATUS_OK) {
        timing_free(s->row->timing);
        *taken = false;
    }
    return status;
}
