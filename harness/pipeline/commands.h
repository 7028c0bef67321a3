/* commands.h - what the commands to workers have in common: the case, and arrays with the files behind them, in the order in which
 * the command numbers them. New references. */
#ifndef RUNGS_PIPELINE_COMMANDS_H
#define RUNGS_PIPELINE_COMMANDS_H

#include "base/array.h"
#include "base/case.h"
#include "device/shared.h"
#include "record/parts.h"

#include <jansson.h>

typedef struct Handover {
    int count, file[SHARED_MAX_FILES];
} Handover;

/* {"text", "op", "params", "dtype", "input", "seed"}. */
json_t *case_json(const Case *problem);
/* The number of a file; there is room for all arrays of any case. */
int handover_file(Handover *handover, const Shared *shared);
/* [{"name", "dtype", "shape", "file"}, ...]. */
json_t *handover_arrays(Handover *handover, const Array *arrays, const Shared *shared, int count);

#endif
