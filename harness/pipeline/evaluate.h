/* evaluate.h - one variant on one case: refuse, make the instance, start a worker, verify, time, verify on new data, profile. */
#ifndef RUNGS_PIPELINE_EVALUATE_H
#define RUNGS_PIPELINE_EVALUATE_H

#include "pipeline/session.h"

#include <jansson.h>

/* Fills the row's verdict, reason, bound, errors, timing, counts, ... Whatever the variant does becomes its row; a Status other
 * than STATUS_OK means that rungs itself cannot go on. *instance is created where it is empty ({0}) and needed; the next
 * variants of the case get it again. *refused: skipped by what is known of the variant and the machine alone. */
Status evaluate(Instance *instance, const Session *session, json_t *row, bool *refused);

#endif
