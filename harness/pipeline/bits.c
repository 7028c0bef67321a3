#include "pipeline/evaluate.h"

#include "base/clock.h"
#include "protocol.h"

enum { LEAST_CALLS = 100, MOST_CALLS = 1000 };
static const double SHARE_OF_ROW = 0.05; /* of the row's time so far, for more than the least */
static const double ASKED_SECONDS = 600; /* for a number of calls that was asked for */

static const char *why_not(const Session *s) {
    const RunOptions *options = s->options;
    if (!s->row->timed) return s->row->why_not_timed;
    if (options->bit_calls == 0 || (options->bit_calls < 0 && options->no_ceilings)) return "turned off";
    return NULL;
}

Status bits_try(Session *s, double timeout_seconds) {
    Row *row = s->row;
    const int asked = s->options->bit_calls;
    const double seconds = asked > 0 ? ASKED_SECONDS : SHARE_OF_ROW * (clock_seconds() - s->began);
    json_t *reply = NULL;
    row->no_bits_reason = why_not(s);
    if (row->no_bits_reason) return STATUS_OK;
    instance_poison(s->instance);
    json_t *command = json_pack("{s:s, s:i, s:i, s:f}", KEY_DO, DO_BITS, KEY_MIN_SAMPLES, asked > 0 ? asked : LEAST_CALLS,
                                KEY_MAX_SAMPLES, asked > 0 ? asked : MOST_CALLS, KEY_SECONDS, seconds);
    Status status = child_ask(s->worker->child, command, timeout_seconds + seconds, &reply);
    if (status == STATUS_OK) bits_read(json_object_get(reply, KEY_BITS), &row->bits);
    if (status == STATUS_OK && row->bits.differ) status = session_take_counts(s->instance, reply);
    json_decref(reply);
    return status == STATUS_OK && row->bits.differ ? compare_outputs(s, DATA_FIRST, "in a repeated call: ", NULL) : status;
}
