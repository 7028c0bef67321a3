/* Whatever case, tunables and arrays a command to a worker holds: they are read, and sizes do not overflow, or refused with words.
 */
#include "fuzz.h"
#include "plan/case.h"
#include "plan/registry.h"
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void one_case(const json_t *object) {
    Case problem, again;
    char text[CASE_TEXT_MAX];
    if (command_case(object, &problem) != STATUS_OK) {
        REQUIRE(*status_message());
        return;
    }
    REQUIRE(registry_op(problem.op) && problem.dtype < DTYPE_COUNT && strlen(problem.input) < sizeof problem.input);
    /* The parent sends what case_parse made; a worker's reading may accept more, but never says something else. */
    if (case_parse(case_format(&problem, text, sizeof text), &again) == STATUS_OK)
        REQUIRE(again.seed == problem.seed && again.dtype == problem.dtype);
}

static void one_array(const json_t *object) {
    Array array;
    size_t bytes = 1;
    if (command_array(object, &array) != STATUS_OK) {
        REQUIRE(*status_message());
        return;
    }
    REQUIRE(array.rank >= 0 && array.rank <= ARRAY_MAX_RANK && strlen(array.name) < sizeof array.name);
    for (int d = 0; d < array.rank; d++) REQUIRE(!__builtin_mul_overflow(bytes, array.shape[d], &bytes));
    REQUIRE(!__builtin_mul_overflow(bytes, dtype_size(array.dtype), &bytes) && bytes == array_bytes(&array));
}

/* Lines as they come through the pipe; what was read goes back as a reply, on one line. */
static void each_line(const uint8_t *bytes, size_t size) {
    char *text = NULL;
    size_t length = 0;
    FILE *commands = size > 0 ? fmemopen((void *)bytes, size, "r") : NULL, *replies = open_memstream(&text, &length);
    json_t *command = NULL;
    size_t lines = 0;
    for (; commands && (lines % 2 ? command_read : command_read_awake)(commands, &command); lines++)
        command_reply(replies, command ? command : json_object());
    if (commands) fclose(commands);
    fclose(replies);
    size_t ends = 0;
    for (size_t i = 0; i < length; i++) ends += text[i] == '\n';
    REQUIRE(ends == lines);
    free(text);
}

/* A file that an array names: there is one, of 8 bytes. */
static void one_file(const json_t *object) {
    Files files;
    Shared shared;
    char path[FUZZ_PATH_MAX];
    REQUIRE(command_files(-1, &files) != STATUS_OK && *status_message()); /* no socket */
    files.count = 1;
    files.fd[0] = fuzz_file((const uint8_t *)"12345678", 8, path);
    if (command_file(&files, object, "file", 8, false, &shared) == STATUS_OK)
        shared_destroy(&shared);
    else
        REQUIRE(*status_message());
    command_files_close(&files);
}

void fuzz_commands(const uint8_t *bytes, size_t size) {
    each_line(bytes, size);
    json_t *command = json_loadb((const char *)bytes, size, 0, NULL);
    Params tunables;
    const VariantEntry *entry;
    REQUIRE(registry_require_variant("op/cuda_b", &entry) == STATUS_OK);
    REQUIRE(params_init(entry->variant->tunables, &tunables) == STATUS_OK);
    if (command_params(json_object_get(command, "tunables"), &tunables) != STATUS_OK) REQUIRE(*status_message());
    one_case(json_object_get(command, "case"));
    one_array(json_object_get(command, "array"));
    one_file(json_object_get(command, "array"));
    json_decref(command);
}
