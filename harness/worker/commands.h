/* commands.h - the parts of a command (docs/PROTOCOL.md) as the structures that they stand for. */
#ifndef RUNGS_WORKER_COMMANDS_H
#define RUNGS_WORKER_COMMANDS_H

#include "base/array.h"
#include "base/case.h"
#include "base/params.h"
#include "base/status.h"

#include <jansson.h>

Status command_params(const json_t *object, Params *params);
Status command_case(const json_t *object, Case *out);
/* Everything but the data. */
Status command_array(const json_t *item, Array *array);

#endif
