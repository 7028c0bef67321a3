/* truthworker.h - truth in a worker: for ops that call the user's own code, which may crash or hang at its own cost only. */
#ifndef RUNGS_TRUTHWORKER_H
#define RUNGS_TRUTHWORKER_H

#include "device/shared.h"
#include "op.h"

#include <jansson.h>

/* As op->truth, into truth[i].value and .tolerance that the caller allocated. in[i] must live in shared_in[i]. Whatever the user's
 * code does comes back as a Status with "the truth of this case: " in front. */
Status truthworker_compute(const Op *op, const Case *problem, const Array *in, const Shared *shared_in, const Array *out, int bound,
                           Truth *truth);
/* Arrays of a command: [{"name", "dtype", "shape", "path"}, ...]. New reference. */
json_t *shared_arrays_json(const Array *arrays, const Shared *shared, int count);

#endif
