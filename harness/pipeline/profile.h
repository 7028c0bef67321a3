/* profile.h - the `counts` of a row, taken in a worker of their own once everything else of the row is known. */
#ifndef RUNGS_PIPELINE_PROFILE_H
#define RUNGS_PIPELINE_PROFILE_H

#include "pipeline/session.h"

#include <jansson.h>

/* Fills in `counts`, or `counts_reason`, of a row whose verdict is known, and writes its timeline if one was asked for. Nothing
 * that goes wrong here changes the rest of the row: it is the reason. Nothing is started after the deadline. */
void profile_take(Instance *instance, const Session *session, json_t *row);

#endif
