/* referenceworker.h - reference in a worker: for ops that call the user's own code, which may crash or hang at its own cost only.
 */
#ifndef RUNGS_PIPELINE_REFERENCE_WORKER_H
#define RUNGS_PIPELINE_REFERENCE_WORKER_H

#include "device/shared.h"
#include "op.h"

#include <jansson.h>

/* As op->reference, into reference[i].value and .tolerance that the caller allocated. in[i] must live in shared_in[i]. Whatever the
 * user's code does comes back as a Status with "the reference of this case: " in front. */
Status referenceworker_compute(const Op *op, const Case *problem, const Array *in, const Shared *shared_in, const Array *out,
                               int bound, Reference *reference);
/* How long a reference may take: 2.5 times as long as a call of a variant. Until told, as for calls of 120 s. */
void referenceworker_allow(double call_seconds);

#endif
