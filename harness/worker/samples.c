/* samples.c - before, between and after the calls of a sample, outside of its time: the parent's key, inputs, poison, and outputs
 * that the parent compares. */
#include "worker/worker.h"

#include <string.h>

static const double REST_SECONDS = 0.002; /* of threads that are not OpenMP's, at least */

/* Says something of a sample to the parent; *command: its answer. */
static Status ask_parent(Worker *worker, const char *key, const SamplePlace *place, json_t **command) {
    json_t *said =
        json_pack("{s:s, s:I, s:I}", KEY_MODE, place->mode, KEY_SAMPLE, (json_int_t)place->index, KEY_OF, (json_int_t)place->count);
    if (strcmp(key, KEY_TAKEN) == 0) { /* before a variant's code runs again */
        json_object_set_new(said, KEY_SECONDS, json_real(place->seconds));
        json_object_set_new(said, KEY_LONGER, json_boolean(place->longer));
    }
    json_t *reply = json_pack("{s:b, s:o}", KEY_OK, 1, key, said);
    const bool outputs = strcmp(key, KEY_CHECK) == 0 && worker->op->sized_by_data;
    if (outputs) json_object_set_new(reply, KEY_COUNTS, outputs_counts(worker));
    command_reply(worker->replies, reply);
    *command = NULL;
    const bool read = command_read(worker->commands, command);
    const char *what = json_string_value(json_object_get(*command, KEY_DO));
    if (read && what && strcmp(what, DO_CONTINUE) == 0) return STATUS_OK;
    json_decref(*command);
    *command = NULL;
    return status_fail(STATUS_INTERNAL, "a sample is answered by the command \"continue\"");
}

/* Threads that rested after the last sample have been woken by nobody since. */
static Status check_rested(const Worker *worker) {
    return worker->inputs.watched ? threads_rested() : STATUS_OK;
}

Status sample_rested(void *context) {
    Worker *worker = context;
    const Status status = check_rested(worker);
    worker->inputs.watched = false;
    return status;
}

/* Threads of a variant's own rest from now to the next call. Those of OpenMP may spin, and do nothing until they are asked. */
static Status watch_threads(Worker *worker) {
    bool alone;
    if (!worker_on_host(worker) || !threads_beside_team()) return STATUS_OK;
    worker->inputs.watched = true;
    return threads_rest(REST_SECONDS, &alone);
}

/* A call that fills the caches as calls before it leave them, on other data than the sample's: what it kept is of no use. */
static Status warm_up(Worker *worker, uint64_t key) {
    TRY(inputs_make(worker, ~key));
    TRY(sample_rested(worker));
    TRY(worker_call(worker));
    TRY(worker->device->wait("a call that warms the caches"));
    TRY(watch_threads(worker));
    return worker->op->sized_by_data || worker->taken.allocations > 0 ? outputs_after_sample(worker) : STATUS_OK;
}

Status sample_before(void *context, const SamplePlace *place) {
    Worker *worker = context;
    json_t *command;
    worker->ended = false;
    TRY(watch_threads(worker));
    TRY(ask_parent(worker, KEY_NEXT, place, &command));
    const uint64_t key = (uint64_t)json_integer_value(json_object_get(command, KEY_KEY));
    json_decref(command);
    if (place->warm && !worker->inputs.slow) TRY(warm_up(worker, key));
    if (!place->back_to_back || place->pilot) TRY(outputs_poison(worker, false)); /* else a skipped call leaves an older result */
    TRY(inputs_make(worker, key));
    TRY(check_rested(worker));
    return worker->device->wait("preparing a sample");
}

static void spoil(const Buffer *out, uint64_t key, size_t state) {
    const size_t count = array_count(&out->array), size = dtype_size(out->array.dtype);
    for (int k = 0; k < VARY_PLACES && count > 0; k++)
        memset((char *)out->array.data + vary_place(key, state, k, count) * size, buffer_poison_byte(), size);
}

/* The first element that is as spoil() left it; the number of elements: none is. */
static size_t left_spoilt(const Buffer *out, uint64_t key, size_t state) {
    const size_t count = array_count(&out->array);
    const bool tells = spoiling_tells(out->array.dtype);
    for (int k = 0; k < VARY_PLACES && count > 0 && tells; k++) {
        const size_t place = vary_place(key, state, k, count);
        if (poison_element(out->array.data, out->array.dtype, place)) return place;
    }
    return count;
}

Status sample_between(void *context, size_t state, bool called) {
    Worker *worker = context;
    Inputs *inputs = &worker->inputs;
    for (int i = 0; i < worker->in_count && !inputs->open; i++) TRY(buffer_open(&worker->buffers_in[i]));
    inputs->open = true;
    TRY(in_place_turn(worker, state, called));
    for (int i = 0; i < inputs->rewritten; i++) vary_rewrite(&inputs->rewriting[i], state);
    for (int i = 0; i < worker->out_count; i++) {
        const Buffer *out = &worker->buffers_out[i];
        if (worker->in_place.input[i] >= 0) continue;
        const size_t left =
            inputs->spoilt == SPOILT_NONE ? array_count(&out->array) : left_spoilt(out, inputs->key, inputs->spoilt);
        if (called && !worker->left_out && left < array_count(&out->array))
            return status_fail(STATUS_CHECK, "in timing, hot: output %s: a call did not write element %zu", out->array.name, left);
        spoil(out, inputs->key, state);
    }
    inputs->spoilt = state;
    return STATUS_OK;
}

/* The parent decides whether it compares the outputs; if so it says go on, or ends this process. */
Status sample_taken(void *context, const SamplePlace *place) {
    Worker *worker = context;
    json_t *command;
    TRY(ask_parent(worker, KEY_TAKEN, place, &command));
    const bool show = json_is_true(json_object_get(command, KEY_SHOW));
    json_decref(command);
    if (!show) return STATUS_OK;
    Status status = outputs_take(worker, worker->call_seconds);
    if (status == STATUS_OK) status = outputs_check(worker);
    if (status == STATUS_OK && place->back_to_back) status = in_place_check(worker);
    worker->inputs.watched = worker_on_host(worker);
    if (status != STATUS_OK) return status_prefix(status, "%s sample %zu: ", place->mode, place->index);
    TRY(ask_parent(worker, KEY_CHECK, place, &command));
    json_decref(command);
    return STATUS_OK;
}
