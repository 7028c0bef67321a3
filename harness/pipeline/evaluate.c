#include "pipeline/evaluate.h"

#include "base/poison.h"
#include "device/child.h"
#include "measure/cache.h"
#include "pipeline/rows.h"
#include "pipeline/verdict.h"

#include <stdio.h>
#include <string.h>

static const double STARTUP_SECONDS = 120; /* process start, CUDA context, Python imports, a user's compile */
static const double SAMPLING_SECONDS = 60; /* pilots, cache sweeps, graph building: what sampling takes besides the samples */
static const size_t SAMPLING_BYTES = (size_t)256 << 20; /* samples, a benchmark library, a graph: besides the cache sweep */
static const double SECONDS_PER_BYTE = 4e-9;            /* moving data to the worker: 250 MB/s at the very worst */

static double timeout_for(const Instance *instance, const RunOptions *options) {
    return options->timeout_seconds + SECONDS_PER_BYTE * (double)instance_bytes(instance);
}

/* Compares every output that the variant gives with the reference of the set; true if all are right. Errors of the first set go
 * into the row. */
static Status judge(Instance *instance, const Session *session, DataSet set, int bound, json_t *row, bool *pass) {
    json_t *errors = json_object();
    char reason[1024] = "";
    *pass = true;
    for (int i = 0; i < instance->op->out_count; i++) {
        Judgement judgement;
        if (!registry_gives(session->choice->entry, instance->out[i].name)) continue;
        const Status status = judge_output(instance, set, bound, i, &judgement);
        if (status != STATUS_OK) json_decref(errors);
        TRY(status);
        json_object_set_new(errors, instance->out[i].name, judgement.errors);
        if (judgement.pass) continue;
        if (*pass) snprintf(reason, sizeof reason, "%s", judgement.words);
        *pass = false;
    }
    if (json_object_size(errors) == 0) { /* a peer whose "outputs" are none of the op's */
        *pass = false;
        snprintf(reason, sizeof reason, "it gives no output of %s", instance->op->name);
    }
    if (set == DATA_FIRST || !*pass) json_object_set(row, "errors", errors);
    json_decref(errors);
    if (*pass) return STATUS_OK;
    char text[1200];
    snprintf(text, sizeof text, "%s%s", set == DATA_SECOND ? "after timing, on new data: " : "", reason);
    row_verdict(row, "fail", text);
    return STATUS_OK;
}

/* Outputs are shared by all variants of the case: a worker that answers "ok" and writes nothing must not pass by what the one
 * before it wrote. A few elements tell: they count as never written. */
static void poison_outputs(Instance *instance) {
    enum { POISONED_BYTES = 4096 };
    for (int i = 0; i < instance->op->out_count; i++) {
        const size_t bytes = array_bytes(&instance->out[i]);
        memset(instance->out[i].data, POISON_BYTE, bytes < POISONED_BYTES ? bytes : POISONED_BYTES);
    }
}

/* Adds to the row's `launch` what the worker told of it; nothing is fine. */
static void tell_launch(json_t *row, json_t *told) {
    json_t *launch = json_object_get(row, "launch");
    if (json_is_object(told) && json_is_object(launch))
        json_object_update(launch, told);
    else if (json_is_object(told))
        json_object_set(row, "launch", told);
}

/* Runs the set's inputs through the worker and judges; what the worker got wrong is in the row. */
static Status run_and_judge(Instance *instance, const Session *session, Child *child, DataSet set, int bound, json_t *row,
                            double *seconds, bool *pass) {
    *pass = false;
    TRY(instance_load(instance, set));
    poison_outputs(instance);
    json_t *command = json_pack("{s:s}", "do", "run"), *reply = NULL;
    Status status = child_ask(child, command, timeout_for(instance, session->options), &reply);
    json_decref(command);
    if (status == STATUS_OK) status = session_take_counts(instance, reply);
    if (status != STATUS_OK) {
        row_verdict(row, status == STATUS_UNSUPPORTED ? "skip" : status == STATUS_CHECK ? "fail" : "error", status_message());
        json_decref(reply);
        return STATUS_OK;
    }
    if (seconds) *seconds = json_number_value(json_object_get(reply, "seconds"));
    tell_launch(row, json_object_get(reply, "launched"));
    json_decref(reply);
    return judge(instance, session, set, bound, row, pass);
}

static json_t *time_command(const Session *session) {
    json_t *modes = json_array();
    for (int m = 0; m < MODE_COUNT; m++)
        if (m != MODE_FIRST && (session->item->modes & (1u << m))) json_array_append_new(modes, json_string(mode_name((Mode)m)));
    const RunOptions *o = session->options;
    return json_pack("{s:s, s:o, s:I, s:I, s:f}", "do", "time", "modes", modes, "min_samples", (json_int_t)o->min_samples,
                     "max_samples", (json_int_t)o->max_samples, "seconds", o->seconds_per_mode);
}

/* Takes the samples. False if the worker failed at it (then the row says how). */
static bool take_times(const Instance *instance, const Session *session, Child *child, double first_seconds, json_t *row) {
    json_t *command = time_command(session), *reply = NULL;
    /* modes x least samples, each at most as slow as the first */
    const double calls = (MODE_COUNT - 1) * (double)session->options->min_samples;
    const double timeout = SAMPLING_SECONDS + timeout_for(instance, session->options) +
                           MODE_COUNT * 4 * session->options->seconds_per_mode + calls * first_seconds;
    child_allow(child, cache_sweep_bytes() + SAMPLING_BYTES); /* a limit is for the variant, not for what empties the caches */
    const Status status = child_ask(child, command, timeout, &reply);
    json_decref(command);
    if (status != STATUS_OK) {
        row_verdict(row, status == STATUS_UNSUPPORTED ? "skip" : status == STATUS_CHECK ? "fail" : "error", status_message());
        return false;
    }
    json_t *timing = json_object();
    const char *mode;
    json_t *samples;
    json_object_foreach(json_object_get(reply, "timing"), mode, samples) json_object_set_new(timing, mode, row_timing(samples));
    if (session->item->modes & (1u << MODE_FIRST))
        json_object_set_new(timing, "first", row_single_sample(first_seconds, "steady clock"));
    json_object_set_new(row, "timing", timing);
    json_decref(reply);
    return true;
}

static const char *why_untimed(const Session *session) {
    if (session->emulated) return "emulated";
    if (session->options->verify_only) return "verify only";
    if (strcmp(RUNGS_BUILD_TYPE, "Release") != 0) return "a " RUNGS_BUILD_TYPE " build is never timed";
    return NULL;
}

static Status verify_and_time(Instance *instance, const Session *session, Child *child, int bound, json_t *row) {
    bool pass = false;
    double first_seconds = 0;
    TRY(run_and_judge(instance, session, child, DATA_FIRST, bound, row, &first_seconds, &pass));
    if (!pass) return STATUS_OK;
    const char *why = why_untimed(session);
    if (why)
        json_object_set_new(row, "why_not_timed", json_string(why));
    else if (!take_times(instance, session, child, first_seconds, row))
        return STATUS_OK;
    if (!session->emulated) { /* emulated kernels are deterministic per seed; the tests vary the seed instead */
        TRY(run_and_judge(instance, session, child, DATA_SECOND, bound, row, NULL, &pass));
        if (!pass) return STATUS_OK;
        json_object_set_new(row, "reverified", json_true());
    }
    row_verdict(row, "pass", NULL);
    return STATUS_OK;
}

/* By which bound: the op's own, or the looser one that the variant declares if the scenario admits it. Oracles of exact() are not
 * looser than each other: a variant is judged by the one whose definition it follows. */
static int choose_bound(const Instance *instance, const Session *session, json_t *row) {
    const char *declared = session->item->declared_bounds || instance->op->exact ? session->choice->entry->variant->bound : NULL;
    int bound = instance_bound(instance, declared);
    if (bound < 0) bound = 0;
    json_object_set_new(row, "bound",
                        json_pack("{s:s, s:s, s:b}", "name", instance->op->bounds[bound].name, "formula",
                                  instance->op->bounds[bound].formula, "declared", bound != 0));
    return bound;
}

Status evaluate(Instance *instance, const Session *session, json_t *row) {
    const int bound = choose_bound(instance, session, row);
    TRY(instance_load(instance, DATA_FIRST));
    Child *child = NULL;
    json_t *reply = NULL;
    Status status = session_start(instance, session, &child);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED) return status;
    if (status == STATUS_OK)
        status = session_open(instance, session, child, STARTUP_SECONDS + timeout_for(instance, session->options), &reply);
    if (status == STATUS_OK) {
        json_object_set(row, "prepare_seconds", json_object_get(reply, "prepare_seconds"));
        tell_launch(row, json_object_get(reply, "launch"));
        json_decref(reply);
        status = verify_and_time(instance, session, child, bound, row);
    } else {
        row_verdict(row, status == STATUS_UNSUPPORTED ? "skip" : "error", status_message());
        status = STATUS_OK;
    }
    child_stop(child);
    return status;
}
