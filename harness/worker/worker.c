/* worker.c - one variant in a process of its own, one case after the other: open, run, time, end. */
#include "worker/worker.h"

#include "base/memory.h"
#include "device/confine.h"
#include "device/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANNOT = 127 };

static const WorkerMeasure *measure; /* NULL: this program takes no times */

/* Is anything written while the stream that the variant was given stands still? Then it works on another. Asked once, after the
 * first call, which is timed as `first`, and before timing, where such a variant would only seem to give a wrong result. */
static Status check_wrong_stream(Worker *worker) {
    if (!measure || worker->op->sized_by_data) return STATUS_OK;
    if (worker->runs == 0 || worker->stream_checked) return STATUS_OK;
    worker->stream_checked = true;
    bool stray = false;
    TRY(outputs_poison(worker, true)); /* what the last run left could be what this one writes */
    Array others[OP_MAX_ARRAYS];
    const int count = in_place_others(worker, others);
    if (count > 0) TRY(measure->wrong_stream(worker->device, worker_call, worker, others, count, buffer_poison_byte(), &stray));
    if (stray)
        return status_fail(STATUS_CHECK,
                           "works on another stream than the given one: outputs changed while the given stream was held");
    return STATUS_OK;
}

static Status do_run(Worker *worker, const json_t *command, json_t *reply) {
    const json_t *poison = json_object_get(command, KEY_POISON);
    if (json_is_integer(poison)) buffer_poison_with((unsigned char)json_integer_value(poison));
    TRY(inputs_upload(worker, (int)json_integer_value(json_object_get(command, KEY_SET))));
    TRY(check_wrong_stream(worker));
    return outputs_run(worker, reply);
}

static Status (*between_of(const Worker *worker))(void *, size_t, bool) {
    return worker_on_host(worker) ? sample_between : measure->between;
}

static Status do_time(Worker *worker, const json_t *command, json_t *reply) {
    if (!measure || !worker->device->timed) return status_fail(STATUS_UNSUPPORTED, "emulated, not timed");
    const bool allocates = worker->op->sized_by_data || worker->taken.allocations > 0;
    MeasuredWork work = {.run = worker_call,
                         .context = worker,
                         .after = allocates ? outputs_after_sample : NULL,
                         .host_counts = allocates && !resource_is_ordered(worker->resource),
                         .before = sample_before,
                         .taken = sample_taken,
                         .between = between_of(worker),
                         .between_context = worker,
                         .rested = sample_rested};
    json_t *timing = NULL;
    TRY(check_wrong_stream(worker));
    TRY(outputs_begin(worker, false));
    Status status = inputs_begin(worker, json_object_get(command, KEY_VARY));
    work.calls_most = worker->in_place.count > 0 ? worker->in_place.arrays : 0;
    if (status == STATUS_OK) status = measure->time(command, worker->device, &work, &timing);
    if (status == STATUS_OK) {
        json_object_set_new(reply, KEY_TIMING, timing);
        status = worker_wait(worker, "timing");
    }
    if (status == STATUS_OK) status = outputs_check(worker);
    inputs_end(worker);
    return measure->between_end(worker, status);
}

static Status leave_out(void *unused) {
    (void)unused;
    return STATUS_OK;
}

/* The command `calls`: once all is prepared, and the parent says so, which times from there to the reply. */
static Status take_calls(Worker *worker, const json_t *command, const MeasuredWork *work, json_t *reply) {
    const json_int_t asked = json_integer_value(json_object_get(command, KEY_CALLS));
    const size_t calls = asked > 0 ? (size_t)asked : 1;
    json_t *ready = json_pack("{s:b}", KEY_OK, 1), *go = NULL;
    double seconds = 0;
    if (json_is_true(json_object_get(command, KEY_COLD)))
        TRY(measure->cool());
    else
        measure->cool_end();
    TRY(work->between(work->between_context, calls - 1, false));
    command_reply(worker->replies, ready);
    (void)command_read_awake(worker->commands, &go);
    json_decref(go);
    TRY(measure->calls(worker->device, work, calls, &seconds));
    json_object_set_new(reply, KEY_SECONDS, json_real(seconds));
    return STATUS_OK;
}

typedef Status (*Taking)(Worker *worker, const json_t *command, const MeasuredWork *work, json_t *reply);

/* On inputs of the command's key, rewritten between calls. why_not: for calls that cannot be made so, because they allocate. */
static Status back_to_back(Worker *worker, const json_t *command, Status (*run)(void *), Taking take, const char *why_not,
                           json_t *reply) {
    const bool allocates = worker->op->sized_by_data || worker->taken.allocations > 0;
    if (!measure || !worker->device->timed || allocates) return status_fail(STATUS_UNSUPPORTED, "%s", why_not);
    const MeasuredWork work = {.run = run, .context = worker, .between = between_of(worker), .between_context = worker};
    TRY(outputs_begin(worker, false));
    Status status = inputs_begin(worker, json_object_get(command, KEY_VARY));
    if (status == STATUS_OK) status = inputs_make(worker, (uint64_t)json_integer_value(json_object_get(command, KEY_KEY)));
    worker->left_out = run == leave_out;
    if (status == STATUS_OK) status = take(worker, command, &work, reply);
    worker->left_out = false;
    inputs_end(worker);
    return measure->between_end(worker, status);
}

static Status do_calls(Worker *worker, const json_t *command, json_t *reply) {
    return back_to_back(worker, command, json_is_true(json_object_get(command, KEY_LEFT_OUT)) ? leave_out : worker_call, take_calls,
                        "its calls are not repeated for the parent's clock", reply);
}

/* The outputs of the last of such calls. */
static Status do_show(Worker *worker) {
    TRY(outputs_take(worker, worker->call_seconds));
    return outputs_check(worker);
}

static Status do_bits(Worker *worker, const json_t *command, json_t *reply) {
    if (!measure || !worker->device->timed) return status_fail(STATUS_UNSUPPORTED, "emulated");
    const Status status = bits_take(worker, command, measure, reply);
    measure->disturb_end();
    return status;
}

static Status take_energy(Worker *worker, const json_t *command, const MeasuredWork *work, json_t *reply) {
    Energy energy;
    (void)command;
    TRY(energy_take(worker, work, measure, &energy));
    TRY(outputs_take(worker, worker->call_seconds));
    TRY(outputs_check(worker));
    if (worker->op->sized_by_data) json_object_set_new(reply, KEY_COUNTS, outputs_counts(worker));
    json_object_set_new(reply, KEY_ENERGY, energy_json(&energy));
    return STATUS_OK;
}

static Status do_energy(Worker *worker, const json_t *command, json_t *reply) {
    if (worker->in_place.count > 0)
        return status_fail(STATUS_UNSUPPORTED, "not measurable: between its calls arrays that they update are restored");
    return back_to_back(worker, command, worker_call, take_energy,
                        "not measurable: its calls allocate, and are not made back to back", reply);
}

/* ---- The command `count`: what one call does, counted after all times are taken, in a worker that takes none. */

static Status after_call(void *context) {
    Worker *worker = context;
    worker->taken = resource_counts(worker->resource);
    return outputs_after_sample(context);
}

static Status prepare_count(Worker *worker) {
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
    TRY(worker_wait(worker, worker->id));
    TRY(after_call(worker));
    size_t bytes = worker->args.scratch_bytes + worker->taken.peak_bytes;
    for (int i = 0; i < worker->out_count && !worker->op->sized_by_data; i++) bytes += array_bytes(&worker->out[i]);
    Counts memory = {.allocations = (double)worker->taken.allocations, .peak_bytes = (double)bytes};
    if (worker->taken.allocations) snprintf(memory.resource, sizeof memory.resource, "%s", worker->taken.resource);
    *counts = counts_json(&memory, WHAT_MEMORY);
    return STATUS_OK;
}

/* The reply gets `counts`, or null with `counts_reason`: what cannot be counted is no error. */
static Status do_count(Worker *worker, const json_t *command, json_t *reply) {
    const char *what = json_string_value(json_object_get(command, KEY_WHAT));
    if (!measure || !worker->device || !worker->device->timed) return status_fail(STATUS_UNSUPPORTED, "emulated, not counted");
    json_t *counts = NULL;
    Status status = prepare_count(worker);
    if (status == STATUS_OK)
        status = what && strcmp(what, WHAT_MEMORY) == 0
                     ? count_memory(worker, &counts)
                     : measure->count(what, worker->device, worker_call, after_call, worker, &counts);
    /* Where outputs are allocated in the call, or updated in place, nothing can be watched while the given stream is held
     * (measure/gpu.cu). */
    const json_int_t elsewhere = json_integer_value(json_object_get(counts, KEY_ELSEWHERE));
    const bool allocates = worker->op && (worker->op->sized_by_data || worker->taken.allocations > 0 || worker->in_place.count > 0);
    if (counts) (void)json_object_del(counts, KEY_ELSEWHERE);
    json_object_set_new(reply, KEY_COUNTS, counts ? counts : json_null());
    if (status == STATUS_OK && allocates && elsewhere > 0)
        return status_fail(STATUS_CHECK, "works on another stream than the given one: %lld of its kernels do",
                           (long long)elsewhere);
    json_object_set_new(reply, KEY_COUNTS_REASON, status == STATUS_OK ? json_null() : json_string(status_message()));
    return STATUS_OK;
}

/* ---- Questions, without a case being open. */

/* supports(), and configuration() if that is wanted, by shapes; nothing of the question stays. */
static Status question_supports(const json_t *command) {
    Worker asked = {0};
    TRY(case_choose(&asked, command));
    TRY(asked.op->shapes(&asked.problem, asked.in, asked.out));
    asked.args = (VariantArgs){.problem = &asked.problem,
                               .tunables = &asked.tunables,
                               .in = asked.in,
                               .in_count = asked.op->in_count,
                               .out = asked.out,
                               .out_count = asked.op->out_count};
    return variant_supports(asked.variant, &asked.args);
}

/* About the device of the command, which stays open: limits are asked for again and again of one worker. */
static Status question_device(Worker *worker, const json_t *command, json_t *reply, const char *key,
                              Status (*answer)(const json_t *command, const Device *device, json_t **out)) {
    const char *kind = json_string_value(json_object_get(command, KEY_KIND));
    const bool opened = worker->device != NULL;
    json_t *out = NULL;
    if (!opened) worker->device = kind && strcmp(kind, "cuda") == 0 ? device_cuda() : device_cpu();
    if (!answer || !worker->device) return status_fail(STATUS_UNSUPPORTED, "this program cannot tell the %s of this device", key);
    if (!opened) TRY(worker->device->open((int)json_integer_value(json_object_get(command, KEY_DEVICE))));
    TRY(answer(command, worker->device, &out));
    json_object_set_new(reply, key, out);
    return STATUS_OK;
}

static Status question_facts(const json_t *command, json_t *reply) {
    json_t *gpu = NULL;
    if (!measure) return status_fail(STATUS_UNSUPPORTED, "this program has no GPU support");
    TRY(measure->facts((int)json_integer_value(json_object_get(command, KEY_DEVICE)), &gpu));
    json_object_set_new(reply, KEY_GPU, gpu);
    return STATUS_OK;
}

/* The reference of a case whose op calls the user's code; values and tolerances go into shared memory. */
static Status compute_reference(const Files *files, const json_t *command) {
    Case problem;
    Array in[OP_MAX_ARRAYS];
    Reference reference[OP_MAX_ARRAYS];
    Shared shared;
    size_t i;
    json_t *item;
    TRY(command_case(json_object_get(command, KEY_CASE), &problem));
    json_array_foreach(json_object_get(command, KEY_INPUTS), i, item) {
        TRY(command_array(item, &in[i]));
        TRY(command_file(files, item, KEY_FILE, array_bytes(&in[i]), false, &shared));
        in[i].data = shared.data;
    }
    json_array_foreach(json_object_get(command, KEY_REFERENCES), i, item) {
        const size_t bytes = sizeof(double) * (size_t)json_integer_value(json_object_get(item, KEY_COUNT));
        TRY(command_file(files, item, KEY_VALUE, bytes, true, &shared));
        reference[i].value = shared.data;
        TRY(command_file(files, item, KEY_TOLERANCE, bytes, true, &shared));
        reference[i].tolerance = shared.data;
    }
    return registry_op(problem.op)
        ->reference(&problem, in, (int)json_integer_value(json_object_get(command, KEY_BOUND)), reference);
}

static Status question_reference(const Worker *worker, const json_t *command) {
    Files files;
    TRY(command_files(worker->arrays, &files));
    const Status status = compute_reference(&files, command);
    command_files_close(&files);
    return status;
}

/* ---- All commands. */

static Status do_end(Worker *worker, json_t *reply) {
    if (measure) measure->cool_end();
    return case_end(worker, reply);
}

static Status close_worker(Worker *worker, json_t *reply) {
    TRY(worker->id ? do_end(worker, reply) : STATUS_OK);
    if (worker->device) worker->device->close();
    return STATUS_OK;
}

static Status obey(Worker *worker, const json_t *command, json_t *reply, bool *last) {
    const char *what = json_string_value(json_object_get(command, KEY_DO));
    if (!what) return status_fail(STATUS_INTERNAL, "a command without \"do\"");
    if (strcmp(what, DO_HELLO) == 0) return STATUS_OK;
    if (strcmp(what, DO_OPEN) == 0) return case_open(worker, command);
    if (strcmp(what, DO_PREPARE) == 0) return case_prepare(worker, reply);
    if (strcmp(what, DO_RUN) == 0) return do_run(worker, command, reply);
    if (strcmp(what, DO_TIME) == 0) return do_time(worker, command, reply);
    if (strcmp(what, DO_CALLS) == 0) return do_calls(worker, command, reply);
    if (strcmp(what, DO_SHOW) == 0) return do_show(worker);
    if (strcmp(what, DO_BITS) == 0) return do_bits(worker, command, reply);
    if (strcmp(what, DO_ENERGY) == 0) return do_energy(worker, command, reply);
    if (strcmp(what, DO_COUNT) == 0) return do_count(worker, command, reply);
    if (strcmp(what, DO_END) == 0) return do_end(worker, reply);
    if (strcmp(what, DO_SUPPORTS) == 0) return question_supports(command);
    if (strcmp(what, DO_CEILINGS) == 0)
        return question_device(worker, command, reply, KEY_CEILINGS, measure ? measure->ceilings : NULL);
    if (strcmp(what, DO_LIMIT) == 0) return question_device(worker, command, reply, KEY_LIMIT, measure ? measure->limit : NULL);
    if (strcmp(what, DO_REFERENCE) == 0) return question_reference(worker, command);
    if (strcmp(what, DO_FACTS) == 0) return question_facts(command, reply);
    if (strcmp(what, DO_COUNTING) == 0)
        return question_device(worker, command, reply, KEY_COUNTING, measure ? measure->can_count : NULL);
    if (strcmp(what, DO_CLOSE) != 0) return status_fail(STATUS_INTERNAL, "unknown command '%s'", what);
    *last = true;
    return close_worker(worker, reply);
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

static void report_failure(Status status, json_t *reply) {
    char message[64] = "failed without a message";
    const bool known = strcmp(status_word(status), "unknown") != 0;
    if (!known) snprintf(message, sizeof message, "returned %d, which is no Status", (int)status);
    json_object_clear(reply);
    json_object_set_new(reply, status == STATUS_UNSUPPORTED ? KEY_SKIP : KEY_ERROR,
                        json_string(known && *status_message() ? status_message() : message));
    json_object_set_new(reply, KEY_KIND, json_string(status_word(status)));
}

/* In a sandbox: the last step into a worker. */
static int confine_and_become(const char *folder, char *const *argv) {
    if (confine_self(folder, true)) execv(argv[0], argv);
    fprintf(stderr, "%s: cannot be started confined to %s: %s\n", argv[0], folder, strerror(errno));
    return CANNOT;
}

int worker_main(int argc, char **argv, const WorkerMeasure *with) {
    static Worker worker;
    measure = with;
    handlers_remember();
    json_set_alloc_funcs(memory_allocate, memory_free);
    if (argc > 3 && strcmp(argv[1], "--confine") == 0) return confine_and_become(argv[2], argv + 3);
    if (argc == 6 && strcmp(argv[1], "--describe") == 0) /* the others were confined when they began */
        return !sandbox_enter(argv[2], argv) || !confine_self(NULL, false)
                   ? CANNOT
                   : module_describe(argv[2], argv[3], option_fd(argc, argv, "--replies"));
    worker.commands = fdopen(option_fd(argc, argv, "--commands"), "r");
    worker.replies = fdopen(option_fd(argc, argv, "--replies"), "w");
    worker.arrays = option_fd(argc, argv, "--arrays");
    if (!worker.commands || !worker.replies || worker.arrays < 0) {
        fprintf(stderr, "rungs starts its workers itself: --commands FD --replies FD --arrays FD are missing\n");
        return 2;
    }
    bool last = false;
    json_t *command;
    while (!last && command_read(worker.commands, &command)) {
        json_t *reply = json_object();
        (void)status_fail(STATUS_INTERNAL, "%s", ""); /* a message of an earlier command explains nothing of this one */
        Status status = command ? obey(&worker, command, reply, &last) : status_fail(STATUS_INTERNAL, "a command that is not JSON");
        if (status == STATUS_OK) {
            json_object_set_new(reply, KEY_OK, json_true());
        } else {
            report_failure(status, reply);
        }
        command_reply(worker.replies, reply);
        json_decref(command);
    }
    return 0;
}
