/* commands.h - lines of the protocol (docs/PROTOCOL.md), and the parts of a command as the structures that they stand for. */
#ifndef RUNGS_WORKER_COMMANDS_H
#define RUNGS_WORKER_COMMANDS_H

#include "base/array.h"
#include "base/case.h"
#include "base/params.h"
#include "base/status.h"
#include "device/shared.h"
#include "protocol.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* What was handed over for one command. */
typedef struct Files {
    int count, fd[SHARED_MAX_FILES];
} Files;

/* The next command; NULL if it is not JSON. False: the parent is gone. */
bool command_read(FILE *commands, json_t **command);
/* Sends the reply and releases it. */
void command_reply(FILE *replies, json_t *reply);
Status command_params(const json_t *object, Params *params);
Status command_case(const json_t *object, Case *out);
/* Everything but the data. */
Status command_array(const json_t *item, Array *array);
/* Waits for the files of a command; they stay open until they are closed here. */
Status command_files(int arrays, Files *files);
void command_files_close(Files *files);
/* Maps the file that `key` of an array numbers. */
Status command_file(const Files *files, const json_t *item, const char *key, size_t bytes, bool writable, Shared *out);

#endif
