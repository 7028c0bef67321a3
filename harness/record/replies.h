/* replies.h - what else workers answer (docs/PROTOCOL.md) than the parts of a row. What a reply lacks is 0, NaN, or false. Texts
 * live as long as the reply. */
#ifndef RUNGS_RECORD_REPLIES_H
#define RUNGS_RECORD_REPLIES_H

#include "base/status.h"
#include "record/parts.h"

typedef struct PrepareReply {
    double seconds; /* NaN: there is nothing to prepare */
    Launch launch;
} PrepareReply;

typedef struct RunReply {
    double seconds;
    int threads;
    Launch launch; /* of the first run */
} RunReply;

/* The sample of a mode whose outputs are to be compared. */
typedef struct CheckReply {
    bool asked; /* it is one; else the reply to `time` has the times */
    Mode mode;
    CheckedSample sample;
} CheckReply;

PrepareReply reply_prepare(const json_t *reply);
RunReply reply_run(const json_t *reply);
/* The elements of output i, which a library may not give (0). False: the reply does not say. */
bool reply_elements(const json_t *reply, int i, size_t *elements);
CheckReply reply_check(const json_t *reply);
/* False: there are none. */
bool reply_timing(const json_t *reply, ModeTiming timing[MODE_COUNT]);
/* Adds to the counts. NULL, or why something is missing. */
const char *reply_counts(const json_t *reply, Counts *counts);
/* The events of a timeline (record/trace.h); NULL: there are none. Borrowed. */
const json_t *reply_events(const json_t *reply);
/* The value of a measured peak; NaN: it was not measured. */
double ceiling_value(const json_t *ceilings, const char *name);
/* After the end of a case: bytes of the device that were added to those in use after the worker's first case; do threads run on? */
void reply_end(const json_t *reply, size_t *kept_bytes, bool *restless);
/* What can be counted: the library, and why not launches or bytes; NULL: nothing is in the way. */
void reply_counting(const json_t *reply, const char **library, const char **no_launches, const char **no_bytes);

#endif
