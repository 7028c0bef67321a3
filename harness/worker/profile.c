#include "worker/profile.h"

#include "record/parts.h"
#include "worker/outputs.h"

#include <stdio.h>
#include <string.h>

static Status after_call(void *context) {
    Worker *worker = context;
    worker->taken = resource_counts(worker->resource);
    return outputs_after_sample(context);
}

static Status prepare(Worker *worker) {
    for (int i = 0; i < worker->in_count && !worker->uploaded; i++)
        TRY(buffer_upload(&worker->buffers_in[i], worker->host_in[0][i].data));
    worker->uploaded = true;
    TRY(outputs_poison(worker, true));
    TRY(outputs_begin(worker, false));
    return worker->device->wait("preparing the buffers");
}

/* What a call has of device memory beside its inputs: outputs and scratch that are ours, and the most that it held of its own. */
static Status count_memory(Worker *worker, json_t **counts) {
    TRY(worker_call(worker));
    TRY(worker->device->wait(worker->entry->id));
    TRY(after_call(worker));
    size_t bytes = worker->args.scratch_bytes + worker->taken.peak_bytes;
    for (int i = 0; i < worker->out_count && !worker->op->sized_by_data; i++) bytes += array_bytes(&worker->out[i]);
    Counts memory = {.allocations = (double)worker->taken.allocations, .peak_bytes = (double)bytes};
    if (worker->taken.allocations) snprintf(memory.resource, sizeof memory.resource, "%s", worker->taken.resource);
    *counts = counts_json(&memory, WHAT_MEMORY);
    return STATUS_OK;
}

Status worker_count(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply) {
    const char *what = json_string_value(json_object_get(command, KEY_WHAT));
    if (!measure || !measure->count || !worker->device || !worker->device->timed)
        return status_fail(STATUS_UNSUPPORTED, "emulated, not counted");
    json_t *counts = NULL;
    Status status = prepare(worker);
    if (status == STATUS_OK)
        status = what && strcmp(what, WHAT_MEMORY) == 0
                     ? count_memory(worker, &counts)
                     : measure->count(what, worker->device, worker_call, after_call, worker, &counts);
    /* Where outputs are allocated in the call, nothing can be watched while the given stream is held (measure/wrong_stream.h). */
    const json_int_t elsewhere = json_integer_value(json_object_get(counts, KEY_ELSEWHERE));
    const bool allocates = worker->op && (worker->op->sized_by_data || worker->taken.allocations > 0);
    if (counts) (void)json_object_del(counts, KEY_ELSEWHERE);
    json_object_set_new(reply, KEY_COUNTS, counts ? counts : json_null());
    if (status == STATUS_OK && allocates && elsewhere > 0)
        return status_fail(STATUS_CHECK, "works on another stream than the given one: %lld of its kernels do",
                           (long long)elsewhere);
    json_object_set_new(reply, KEY_COUNTS_REASON, status == STATUS_OK ? json_null() : json_string(status_message()));
    return STATUS_OK;
}
