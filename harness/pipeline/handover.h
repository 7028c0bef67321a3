/* handover.h - the arrays of a command, and the files behind them, in the order in which the command numbers them. */
#ifndef RUNGS_PIPELINE_HANDOVER_H
#define RUNGS_PIPELINE_HANDOVER_H

#include "base/array.h"
#include "device/shared.h"

#include <jansson.h>

typedef struct Handover {
    int count, file[SHARED_MAX_FILES];
} Handover;

/* The number of a file; there is room for all arrays of any case. */
int handover_file(Handover *handover, const Shared *shared);
/* [{"name", "dtype", "shape", "file"}, ...]. New reference. */
json_t *handover_arrays(Handover *handover, const Array *arrays, const Shared *shared, int count);

#endif
