/* commands.h - lines of the protocol (docs/PROTOCOL.md), and the parts of a command as the structures that they stand for. */
#ifndef RUNGS_WORKER_COMMANDS_H
#define RUNGS_WORKER_COMMANDS_H

#include "base/array.h"
#include "base/case.h"
#include "base/params.h"
#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The next command; NULL if it is not JSON. False: the parent is gone. */
bool command_read(FILE *commands, json_t **command);
/* Sends the reply and releases it. */
void command_reply(FILE *replies, json_t *reply);
Status command_params(const json_t *object, Params *params);
Status command_case(const json_t *object, Case *out);
/* Everything but the data. */
Status command_array(const json_t *item, Array *array);

#endif
