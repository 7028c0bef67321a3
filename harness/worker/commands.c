#include "worker/worker.h"

#include "base/memory.h"
#include "base/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool command_read(FILE *commands, json_t **command) {
    char *line = NULL;
    size_t room = 0;
    const bool read = getline(&line, &room, commands) > 0;
    *command = read ? json_loads(line, 0, NULL) : NULL;
    free(line);
    return read;
}

bool command_read_awake(FILE *commands, json_t **command) {
    process_stay_awake(fileno(commands));
    return command_read(commands, command);
}

/* A reply that lacks a part would be believed. */
void command_reply(FILE *replies, json_t *reply) {
    char *text = json_dumps(reply, JSON_COMPACT);
    const char *sent = text && memory_check() == STATUS_OK ? text : "{\"error\":\"out of host memory\",\"kind\":\"memory\"}";
    fwrite(sent, 1, strlen(sent), replies);
    fputc('\n', replies);
    fflush(replies);
    memory_free(text);
    json_decref(reply);
}

Status command_params(const json_t *object, Params *params) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        char text[PARAM_TEXT_MAX];
        if (json_is_integer(value))
            snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        else if (json_is_real(value))
            snprintf(text, sizeof text, "%.17g", json_real_value(value));
        else
            snprintf(text, sizeof text, "%s", json_is_string(value) ? json_string_value(value) : "?");
        TRY(params_set(params, name, text));
    }
    return STATUS_OK;
}

Status command_case(const json_t *object, Case *out) {
    const char *name = json_string_value(json_object_get(object, KEY_OP));
    const char *dtype = json_string_value(json_object_get(object, KEY_DTYPE));
    const char *input = json_string_value(json_object_get(object, KEY_INPUT));
    const Op *op = NULL;
    TRY(registry_require_op(name ? name : "", &op));
    *out = (Case){.op = op->name, .seed = (uint64_t)json_integer_value(json_object_get(object, KEY_SEED))};
    TRY(params_init(op->params, &out->params));
    if (!dtype || !dtype_parse(dtype, &out->dtype)) return status_fail(STATUS_INTERNAL, "open: no dtype");
    const char *sums = json_string_value(json_object_get(object, KEY_ACCUMULATE));
    DType accumulate;
    if (sums && dtype_parse(sums, &accumulate)) out->accumulate = 1 + (int)accumulate;
    snprintf(out->input, sizeof out->input, "%s", input ? input : "");
    return command_params(json_object_get(object, KEY_PARAMS), &out->params);
}

Status command_array(const json_t *item, Array *array) {
    const char *dtype = json_string_value(json_object_get(item, KEY_DTYPE));
    const char *name = json_string_value(json_object_get(item, KEY_NAME));
    const json_t *shape = json_object_get(item, KEY_SHAPE);
    *array = (Array){.rank = (int)json_array_size(shape)};
    if (!name || !dtype || !dtype_parse(dtype, &array->dtype) || array->rank > ARRAY_MAX_RANK)
        return status_fail(STATUS_INTERNAL, "a malformed array in a command");
    snprintf(array->name, sizeof array->name, "%s", name);
    size_t bytes = dtype_size(array->dtype);
    for (int d = 0; d < array->rank; d++) {
        const json_int_t length = json_integer_value(json_array_get(shape, (size_t)d));
        array->shape[d] = (size_t)length;
        if (length < 0 || __builtin_mul_overflow(bytes, array->shape[d], &bytes))
            return status_fail(STATUS_INTERNAL, "array %.31s in a command: invalid shape", name);
    }
    return STATUS_OK;
}

Status command_files(int arrays, Files *files) {
    return shared_receive(arrays, files->fd, &files->count);
}

void command_files_close(Files *files) {
    for (int i = 0; i < files->count; i++) close(files->fd[i]);
    files->count = 0;
}

Status command_file(const Files *files, const json_t *item, const char *key, size_t bytes, bool writable, Shared *out) {
    const json_t *number = json_object_get(item, key);
    const char *name = json_string_value(json_object_get(item, KEY_NAME));
    const json_int_t index = json_integer_value(number);
    if (!json_is_integer(number) || index < 0 || index >= files->count)
        return status_fail(STATUS_INTERNAL, "an array of a command has no file '%s'", key);
    return shared_open(files->fd[index], name ? name : "an array", bytes, writable, out);
}
