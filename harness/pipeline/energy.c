#include "pipeline/evaluate.h"

#include "base/clock.h"
#include "protocol.h"

#include <math.h>

static const double NAMED_SECONDS = 240;  /* of a run, for rows whose scenario asks for it */
static const double WINDOWS_SECONDS = 60; /* of all windows, with what is around them */

/* On a varied set that no sample was taken on: its outputs are compared. */
static Status measure(Session *s, double timeout_seconds) {
    const DataSet set = instance_varied(MODE_HOT, 1);
    json_t *reply = NULL;
    instance_poison(s->instance);
    json_t *command = json_pack("{s:s, s:I, s:o}", KEY_DO, DO_ENERGY, KEY_KEY, (json_int_t)instance_key(s->instance, set), KEY_VARY,
                                instance_vary(s->instance));
    const Status status = child_ask(s->worker->child, command, timeout_seconds + WINDOWS_SECONDS, &reply);
    if (status == STATUS_OK) energy_read(json_object_get(reply, KEY_ENERGY), &s->row->energy);
    json_decref(reply);
    TRY(status);
    s->row->energy.joules_per_element = s->row->work.elements > 0 ? s->row->energy.joules / s->row->work.elements : NAN;
    return compare_outputs(s, set, "while its energy was measured: ", NULL);
}

Status energy_try(Session *s, double timeout_seconds) {
    Row *row = s->row;
    static double spent;
    const bool named = s->choice->energy && !s->further && !s->options->energy;
    row->energy_wanted = s->options->energy || named;
    if (!row->energy_wanted) return STATUS_OK;
    if (named && spent >= NAMED_SECONDS) {
        row_set_text(&row->no_energy_reason, "the 4 minutes that a run has for energy were spent");
        return STATUS_OK;
    }
    if (!row->timed || s->choice->entry->backend == BACKEND_PEER) {
        row_set_text(&row->no_energy_reason, row->timed ? "not measurable: a library's calls are its own" : row->why_not_timed);
        return STATUS_OK;
    }
    const double begin = clock_seconds();
    const Status status = measure(s, timeout_seconds);
    if (named) spent += clock_seconds() - begin;
    if (status == STATUS_UNSUPPORTED) row_set_text(&row->no_energy_reason, status_message());
    return status == STATUS_UNSUPPORTED ? STATUS_OK : status;
}
