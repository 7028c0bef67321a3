#include "worker/questions.h"

#include "worker/case.h"
#include "worker/commands.h"

#include <string.h>

/* supports(), and configuration() if that is wanted, by shapes; nothing of the question stays. */
Status question_supports(const json_t *command, json_t *reply) {
    Worker asked = {0};
    char reason[REASON_MAX] = "";
    TRY(case_choose(&asked, command));
    TRY(asked.op->shapes(&asked.problem, asked.in, asked.out));
    asked.args = (VariantArgs){.problem = &asked.problem,
                               .tunables = &asked.tunables,
                               .in = asked.in,
                               .in_count = asked.op->in_count,
                               .out = asked.out,
                               .out_count = asked.op->out_count};
    const Variant *variant = asked.variant;
    if (variant->supports && !variant->supports(&asked.args, reason)) return status_fail(STATUS_UNSUPPORTED, "%s", reason);
    return json_is_true(json_object_get(command, KEY_LAUNCH)) ? case_tell_launch(&asked, reply) : STATUS_OK;
}

Status question_ceilings(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply) {
    const char *kind = json_string_value(json_object_get(command, KEY_KIND));
    worker->device = kind && strcmp(kind, "cuda") == 0 ? device_cuda() : device_cpu();
    if (!measure || !worker->device) return status_fail(STATUS_UNSUPPORTED, "this program cannot measure peaks");
    TRY(worker->device->open((int)json_integer_value(json_object_get(command, KEY_DEVICE))));
    json_t *ceilings = NULL;
    TRY(measure->ceilings(command, worker->device, &ceilings));
    json_object_set_new(reply, KEY_CEILINGS, ceilings);
    return STATUS_OK;
}

/* Asked again and again of one worker: the device stays open. */
Status question_limit(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply) {
    const char *kind = json_string_value(json_object_get(command, KEY_KIND));
    const bool opened = worker->device != NULL;
    if (!opened) worker->device = kind && strcmp(kind, "cuda") == 0 ? device_cuda() : device_cpu();
    if (!measure || !measure->limit || !worker->device)
        return status_fail(STATUS_UNSUPPORTED, "this program cannot measure limits");
    if (!opened) TRY(worker->device->open((int)json_integer_value(json_object_get(command, KEY_DEVICE))));
    json_t *limit = NULL;
    TRY(measure->limit(command, worker->device, &limit));
    json_object_set_new(reply, KEY_LIMIT, limit);
    return STATUS_OK;
}

Status question_facts(const WorkerMeasure *measure, const json_t *command, json_t *reply) {
    json_t *gpu = NULL;
    if (!measure || !measure->facts) return status_fail(STATUS_UNSUPPORTED, "this program has no GPU support");
    TRY(measure->facts((int)json_integer_value(json_object_get(command, KEY_DEVICE)), &gpu));
    json_object_set_new(reply, KEY_GPU, gpu);
    return STATUS_OK;
}

Status question_counting(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply) {
    json_t *answer = NULL;
    worker->device = device_cuda();
    if (!measure || !measure->can_count || !worker->device) return status_fail(STATUS_UNSUPPORTED, "this program cannot count");
    TRY(worker->device->open((int)json_integer_value(json_object_get(command, KEY_DEVICE))));
    TRY(measure->can_count(worker->device, &answer));
    json_object_set_new(reply, KEY_COUNTING, answer);
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

Status question_reference(int arrays, const json_t *command) {
    Files files;
    TRY(command_files(arrays, &files));
    const Status status = compute_reference(&files, command);
    command_files_close(&files);
    return status;
}
