/* worker.c - one variant on one case, in a process of its own: open, run, time, close. */
#include "worker/worker.h"

#include "base/clock.h"
#include "base/memory.h"
#include "worker/commands.h"
#include "worker/outputs.h"
#include "worker/profile.h"
#include "worker/rotation.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const WorkerMeasure *measure;

void worker_can_measure(const WorkerMeasure *with) {
    measure = with;
}

/* Maps the arrays of the command and, unless buffers is NULL, makes a guarded buffer for each: arrays then describes those. */
static Status open_arrays(const Device *device, const json_t *list, int writable, Array *arrays, Shared *shared, Buffer *buffers,
                          int *count) {
    size_t i;
    json_t *item;
    if (json_array_size(list) > OP_MAX_ARRAYS) return status_fail(STATUS_INTERNAL, "open: more than %d arrays", OP_MAX_ARRAYS);
    json_array_foreach((json_t *)list, i, item) {
        Array *array = &arrays[i];
        TRY(command_array(item, array));
        TRY(shared_open(json_string_value(json_object_get(item, "path")), array_bytes(array), writable, &shared[i]));
        *count = (int)i + 1;
        if (!buffers) continue;
        TRY(buffer_create(device, array, &buffers[i]));
        *array = buffers[i].array;
    }
    return STATUS_OK;
}

/* {"device": "cuda", "blocks": 264, ...}, or null if the variant tells nothing. */
static Status tell_launch(const Worker *worker, json_t *reply) {
    LaunchNotes notes = {0};
    if (worker->entry->variant->configuration) TRY(worker->entry->variant->configuration(&worker->args, &notes));
    const char *kind = worker->device ? worker->device->kind : worker->entry->variant->backend == BACKEND_CPU ? "cpu" : "cuda";
    json_t *launch = notes.count > 0 ? json_pack("{s:s}", "device", kind) : json_null();
    for (int i = 0; i < notes.count; i++) {
        const double value = notes.notes[i].value;
        json_object_set_new(launch, notes.notes[i].name,
                            value == floor(value) ? json_integer((json_int_t)value) : json_real(value));
    }
    json_object_set_new(reply, "launch", launch);
    return STATUS_OK;
}

/* Outputs sized by data come from the variant: only their descriptions are known, and room for them in the parent's memory. */
static Status open_outputs(Worker *worker, const json_t *command) {
    TRY(open_arrays(worker->device, json_object_get(command, "outputs"), 1, worker->out, worker->host_out,
                    worker->op->sized_by_data ? NULL : worker->buffers_out, &worker->out_count));
    for (int i = 0; i < worker->out_count; i++) {
        worker->room[i] = worker->out[i];
        worker->room[i].data = NULL;
    }
    return resource_create(worker->device,
                           params_has(&worker->tunables, "memory") ? params_text(&worker->tunables, "memory") : NULL,
                           &worker->resource);
}

/* Other data of the same shapes. They get to the device when they are needed. */
static Status open_further_sets(Worker *worker, const json_t *sets) {
    Array described[OP_MAX_ARRAYS];
    worker->sets = 1;
    for (size_t s = 0; s < json_array_size(sets) && worker->sets < WORKER_MAX_SETS; s++, worker->sets++) {
        int count = 0;
        TRY(open_arrays(worker->device, json_array_get(sets, s), 0, described, worker->host_in[worker->sets], NULL, &count));
        for (int i = 0; i < worker->in_count; i++)
            if (count != worker->in_count || array_bytes(&described[i]) != worker->buffers_in[i].bytes)
                return status_fail(STATUS_INTERNAL, "open: the inputs of set %d have other shapes", worker->sets);
    }
    return STATUS_OK;
}

static Status choose_variant(Worker *worker, const json_t *command) {
    const char *id = json_string_value(json_object_get(command, "variant"));
    TRY(registry_require_variant(id ? id : "", &worker->entry));
    TRY(command_case(json_object_get(command, "case"), &worker->problem));
    worker->op = registry_op(worker->problem.op);
    TRY(params_init(worker->entry->variant->tunables, &worker->tunables));
    return command_params(json_object_get(command, "tunables"), &worker->tunables);
}

/* What is ours of the beginning: the device, the arrays, guarded buffers. */
static Status do_open(Worker *worker, const json_t *command) {
    TRY(choose_variant(worker, command));
    const Backend backend = worker->entry->variant->backend;
    worker->device = backend == BACKEND_CPU ? device_cpu() : device_emulator() ? device_emulator() : device_cuda();
    if (!worker->device) return status_fail(STATUS_UNSUPPORTED, "this build of rungs has no CUDA");
    TRY(worker->device->open((int)json_integer_value(json_object_get(command, "device"))));
    TRY(open_arrays(worker->device, json_object_get(command, "inputs"), 0, worker->in, worker->host_in[0], worker->buffers_in,
                    &worker->in_count));
    TRY(open_further_sets(worker, json_object_get(command, "further_inputs")));
    return open_outputs(worker, command);
}

/* What is the variant's, under the time-out for its code. */
static Status do_prepare(Worker *worker, json_t *reply) {
    if (!worker->entry) return status_fail(STATUS_INTERNAL, "prepare before open");
    const Variant *variant = worker->entry->variant;
    VariantArgs *args = &worker->args;
    *args = (VariantArgs){.problem = &worker->problem,
                          .tunables = &worker->tunables,
                          .in = worker->in,
                          .in_count = worker->in_count,
                          .out = worker->out,
                          .out_count = worker->out_count,
                          .stream = worker->device->stream(),
                          .memory = resource_memory(worker->resource)};
    char reason[REASON_MAX];
    if (variant->supports && !variant->supports(args, reason)) return status_fail(STATUS_UNSUPPORTED, "%s", reason);
    if (variant->scratch_bytes) {
        args->scratch_bytes = variant->scratch_bytes(args);
        const Array shape = array_1d("scratch", DTYPE_U8, args->scratch_bytes);
        TRY(buffer_create(worker->device, &shape, &worker->scratch));
        args->scratch = worker->scratch.array.data;
    }
    TRY(tell_launch(worker, reply));
    json_object_set_new(reply, "prepare_seconds", json_null());
    if (!variant->prepare) return STATUS_OK;
    const double begin = clock_seconds();
    TRY(variant->prepare(args, &args->state));
    worker->prepared = true;
    json_object_set_new(reply, "prepare_seconds", json_real(clock_seconds() - begin));
    return STATUS_OK;
}

/* supports(), and configuration() if that is wanted, by shapes; nothing of the question stays. */
static Status do_supports(const json_t *command, json_t *reply) {
    Worker asked = {0};
    char reason[REASON_MAX] = "";
    TRY(choose_variant(&asked, command));
    TRY(asked.op->shapes(&asked.problem, asked.in, asked.out));
    asked.args = (VariantArgs){.problem = &asked.problem,
                               .tunables = &asked.tunables,
                               .in = asked.in,
                               .in_count = asked.op->in_count,
                               .out = asked.out,
                               .out_count = asked.op->out_count};
    const Variant *variant = asked.entry->variant;
    if (variant->supports && !variant->supports(&asked.args, reason)) return status_fail(STATUS_UNSUPPORTED, "%s", reason);
    return json_is_true(json_object_get(command, "launch")) ? tell_launch(&asked, reply) : STATUS_OK;
}

/* Is anything written while the stream that the variant was given stands still? Then it works on another. */
static Status check_wrong_stream(Worker *worker) {
    if (!measure || !measure->wrong_stream || worker->op->sized_by_data) return STATUS_OK;
    bool stray = false;
    TRY(outputs_poison(worker, true)); /* what the last run left could be what this one writes */
    TRY(measure->wrong_stream(worker->device, worker_call, worker, worker->out, worker->out_count, buffer_poison_byte(), &stray));
    if (stray)
        return status_fail(STATUS_CHECK,
                           "works on another stream than the given one: outputs changed while the given stream was held");
    return STATUS_OK;
}

static Status do_run(Worker *worker, const json_t *command, json_t *reply) {
    const json_t *poison = json_object_get(command, "poison");
    if (json_is_integer(poison)) buffer_poison_with((unsigned char)json_integer_value(poison));
    TRY(rotation_upload(worker, (int)json_integer_value(json_object_get(command, "set"))));
    if (worker->runs == 1) TRY(check_wrong_stream(worker)); /* the second run: the first is timed as `first` */
    return outputs_run(worker, reply);
}

static Status do_time(Worker *worker, const json_t *command, json_t *reply) {
    if (!measure || !worker->device->timed) return status_fail(STATUS_UNSUPPORTED, "emulated, not timed");
    const bool allocates = worker->op->sized_by_data || worker->taken.allocations > 0;
    const MeasuredWork work = {.run = worker_call,
                               .context = worker,
                               .after = allocates ? outputs_after_sample : NULL,
                               .before = rotation_before,
                               .taken = rotation_taken};
    json_t *timing = NULL;
    TRY(outputs_begin(worker, false));
    TRY(rotation_begin(worker, json_object_get(command, "checks")));
    Status status = measure->time(command, worker->device, &work, &timing);
    if (status == STATUS_OK) {
        json_object_set_new(reply, "timing", timing);
        status = worker->device->wait("timing");
    }
    if (status == STATUS_OK) status = rotation_check(worker);
    rotation_end(worker);
    return status;
}

static Status do_ceilings(Worker *worker, const json_t *command, json_t *reply) {
    const char *kind = json_string_value(json_object_get(command, "kind"));
    worker->device = kind && strcmp(kind, "cuda") == 0 ? device_cuda() : device_cpu();
    if (!measure || !worker->device) return status_fail(STATUS_UNSUPPORTED, "this program cannot measure peaks");
    TRY(worker->device->open((int)json_integer_value(json_object_get(command, "device"))));
    json_t *ceilings = NULL;
    TRY(measure->ceilings(command, worker->device, &ceilings));
    json_object_set_new(reply, "ceilings", ceilings);
    return STATUS_OK;
}

/* Asked again and again of one worker: the device stays open. */
static Status do_limit(Worker *worker, const json_t *command, json_t *reply) {
    const char *kind = json_string_value(json_object_get(command, "kind"));
    const bool opened = worker->device != NULL;
    if (!opened) worker->device = kind && strcmp(kind, "cuda") == 0 ? device_cuda() : device_cpu();
    if (!measure || !measure->limit || !worker->device)
        return status_fail(STATUS_UNSUPPORTED, "this program cannot measure limits");
    if (!opened) TRY(worker->device->open((int)json_integer_value(json_object_get(command, "device"))));
    json_t *limit = NULL;
    TRY(measure->limit(command, worker->device, &limit));
    json_object_set_new(reply, "limit", limit);
    return STATUS_OK;
}

static Status do_facts(const json_t *command, json_t *reply) {
    json_t *gpu = NULL;
    if (!measure || !measure->facts) return status_fail(STATUS_UNSUPPORTED, "this program has no GPU support");
    TRY(measure->facts((int)json_integer_value(json_object_get(command, "device")), &gpu));
    json_object_set_new(reply, "gpu", gpu);
    return STATUS_OK;
}

static Status do_counting(Worker *worker, const json_t *command, json_t *reply) {
    json_t *answer = NULL;
    worker->device = device_cuda();
    if (!measure || !measure->can_count || !worker->device) return status_fail(STATUS_UNSUPPORTED, "this program cannot count");
    TRY(worker->device->open((int)json_integer_value(json_object_get(command, "device"))));
    TRY(measure->can_count(worker->device, &answer));
    json_object_set_new(reply, "counting", answer);
    return STATUS_OK;
}

/* The reference of a case whose op calls the user's code; values and tolerances go into shared memory. */
static Status do_reference(const json_t *command) {
    Case problem;
    Array in[OP_MAX_ARRAYS];
    Reference reference[OP_MAX_ARRAYS];
    Shared shared;
    size_t i;
    json_t *item;
    TRY(command_case(json_object_get(command, "case"), &problem));
    json_array_foreach(json_object_get(command, "inputs"), i, item) {
        TRY(command_array(item, &in[i]));
        TRY(shared_open(json_string_value(json_object_get(item, "path")), array_bytes(&in[i]), 0, &shared));
        in[i].data = shared.data;
    }
    json_array_foreach(json_object_get(command, "truths"), i, item) {
        const size_t bytes = sizeof(double) * (size_t)json_integer_value(json_object_get(item, "count"));
        TRY(shared_open(json_string_value(json_object_get(item, "value")), bytes, 1, &shared));
        reference[i].value = shared.data;
        TRY(shared_open(json_string_value(json_object_get(item, "tolerance")), bytes, 1, &shared));
        reference[i].tolerance = shared.data;
    }
    return registry_op(problem.op)->reference(&problem, in, (int)json_integer_value(json_object_get(command, "bound")), reference);
}

static void close_sets(Worker *worker, int input) {
    for (int set = 0; set < worker->sets; set++) shared_destroy(&worker->host_in[set][input]);
}

static void do_close(Worker *worker) {
    if (worker->prepared && worker->entry->variant->release) worker->entry->variant->release(worker->args.state);
    for (int i = 0; i < worker->in_count; i++) buffer_destroy(&worker->buffers_in[i]), close_sets(worker, i);
    for (int i = 0; i < worker->out_count; i++) buffer_destroy(&worker->buffers_out[i]), shared_destroy(&worker->host_out[i]);
    if (worker->scratch.base) buffer_destroy(&worker->scratch);
    resource_destroy(worker->resource);
    if (worker->device) worker->device->close();
}

static Status obey(Worker *worker, const json_t *command, json_t *reply, bool *last) {
    const char *what = json_string_value(json_object_get(command, "do"));
    if (!what) return status_fail(STATUS_INTERNAL, "a command without \"do\"");
    if (strcmp(what, "open") == 0) return do_open(worker, command);
    if (strcmp(what, "prepare") == 0) return do_prepare(worker, reply);
    if (strcmp(what, "supports") == 0) return do_supports(command, reply);
    if (strcmp(what, "run") == 0) return do_run(worker, command, reply);
    if (strcmp(what, "time") == 0) return do_time(worker, command, reply);
    if (strcmp(what, "ceilings") == 0) return do_ceilings(worker, command, reply);
    if (strcmp(what, "limit") == 0) return do_limit(worker, command, reply);
    if (strcmp(what, "truth") == 0) return do_reference(command);
    if (strcmp(what, "facts") == 0) return do_facts(command, reply);
    if (strcmp(what, "count") == 0) return worker_count(worker, measure, command, reply);
    if (strcmp(what, "counting") == 0) return do_counting(worker, command, reply);
    if (strcmp(what, "close") != 0) return status_fail(STATUS_INTERNAL, "unknown command '%s'", what);
    do_close(worker);
    *last = true;
    return STATUS_OK;
}

/* Not for the programs that a worker starts: they would keep the parent's pipes open beyond the worker's end. */
static int option_fd(int argc, char **argv, const char *name) {
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) != 0) continue;
        const int fd = atoi(argv[i + 1]);
        return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
    }
    return -1;
}

static void tell_failure(Status status, json_t *reply) {
    char message[64] = "failed without a message";
    const bool known = strcmp(status_word(status), "unknown") != 0;
    if (!known) snprintf(message, sizeof message, "returned %d, which is no Status", (int)status);
    json_object_clear(reply);
    json_object_set_new(reply, status == STATUS_UNSUPPORTED ? "skip" : "error",
                        json_string(known && *status_message() ? status_message() : message));
    json_object_set_new(reply, "kind", json_string(status_word(status)));
}

int worker_main(int argc, char **argv) {
    static Worker worker;
    json_set_alloc_funcs(memory_allocate, free);
    worker.commands = fdopen(option_fd(argc, argv, "--commands"), "r");
    worker.replies = fdopen(option_fd(argc, argv, "--replies"), "w");
    if (!worker.commands || !worker.replies) {
        fprintf(stderr, "rungs starts its workers itself: --commands FD --replies FD are missing\n");
        return 2;
    }
    bool last = false;
    json_t *command;
    while (!last && command_read(worker.commands, &command)) {
        json_t *reply = json_object();
        (void)status_fail(STATUS_INTERNAL, "%s", ""); /* a message of an earlier command explains nothing of this one */
        Status status = command ? obey(&worker, command, reply, &last) : status_fail(STATUS_INTERNAL, "a command that is not JSON");
        if (status == STATUS_OK) {
            json_object_set_new(reply, "ok", json_true());
        } else {
            tell_failure(status, reply);
        }
        command_reply(worker.replies, reply);
        json_decref(command);
    }
    return 0;
}
