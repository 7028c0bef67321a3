#include "pipeline/series.h"

#include "pipeline/evaluate.h"
#include "pipeline/profile.h"
#include "pipeline/rows.h"
#include "record/row.h"

#include <math.h>
#include <stdio.h>

enum { AT_ONCE_MOST = 1000 };             /* samples of one command, whose reply is one line */
static const double AT_ONCE_SECONDS = 60; /* what they may take: a flush of the caches before each */

/* One call of series_take(). */
typedef struct Taking {
    Session session;
    PlanItem item; /* with the one mode */
    RunOptions options;
    Mode mode;
    Host host;
    Evaluated evaluated;
    json_t *seconds; /* of all samples so far */
} Taking;

static Status make_taking(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, Taking *out) {
    if (self->item != item) series_close(self);
    self->item = item;
    *out = (Taking){.item = *item, .options = *self->options, .mode = mode, .seconds = json_array()};
    out->item.modes = 1u << mode;
    out->options.no_counts = true;
    out->options.seconds_per_mode = AT_ONCE_SECONDS;
    out->session = (Session){.choice = choice,
                             .item = &out->item,
                             .problem = &item->problem,
                             .options = &out->options,
                             .no_gpu_reason = self->no_gpu_reason,
                             .limits = self->limits,
                             .deadline = INFINITY};
    return out->seconds ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for samples");
}

static json_t *timed_of(const Taking *taking, const json_t *row) {
    return json_object_get(json_object_get(row, "timing"), mode_name(taking->mode));
}

/* The end of the worker is part of what the variant did. */
static void end_host(Taking *taking, json_t *row) {
    const Status status = taking->host.child && taking->evaluated.pending
                              ? child_end(taking->host.child, taking->options.timeout_seconds)
                              : STATUS_OK;
    child_stop(taking->host.child);
    taking->host = (Host){0};
    if (status == STATUS_OK) return;
    taking->evaluated.pending = false;
    row_verdict(row, "error", status_message());
}

static Status begin_row(const Taking *taking, json_t **row) {
    json_decref(*row);
    *row = row_begin("", &taking->item, &taking->item.problem, taking->session.choice, false);
    return *row ? STATUS_OK : status_fail(STATUS_INVALID, "a case of %s cannot be written as JSON", taking->item.problem.op);
}

static Status evaluate_some(Series *self, Taking *taking, size_t samples, json_t **row) {
    taking->options.min_samples = taking->options.max_samples = samples;
    TRY(begin_row(taking, row));
    TRY(evaluate(&self->instance, &taking->session, &taking->host, *row, &taking->evaluated));
    json_t *taken = json_object_get(timed_of(taking, *row), "samples");
    if (!taken || !taking->evaluated.pending || json_array_extend(taking->seconds, taken) == 0) return STATUS_OK;
    return status_fail(STATUS_MEMORY, "no memory for samples");
}

static Status need_gpu(Taking *taking, json_t **row) {
    char reason[320];
    snprintf(reason, sizeof reason, "needs a GPU: %s", taking->session.no_gpu_reason);
    TRY(begin_row(taking, row));
    row_verdict(*row, "skip", reason);
    return STATUS_OK;
}

/* Until there are so many, or there are none to be had. */
static Status take_all(Series *self, Taking *taking, size_t samples, json_t **row) {
    if (taking->session.choice->entry->backend == BACKEND_CUDA && taking->session.no_gpu_reason) return need_gpu(taking, row);
    for (bool more = true; more;) {
        const size_t missing = samples - json_array_size(taking->seconds), before = json_array_size(taking->seconds);
        TRY(evaluate_some(self, taking, missing < AT_ONCE_MOST ? missing : AT_ONCE_MOST, row));
        more = taking->evaluated.pending && json_array_size(taking->seconds) > before && json_array_size(taking->seconds) < samples;
        if (!more || !taking->host.reusable) end_host(taking, *row);
        more = more && taking->evaluated.pending;
    }
    return STATUS_OK;
}

/* Statistics over the samples of all commands; then the row's limit, and its verdict. */
static Status finish(Series *self, Taking *taking, json_t *row) {
    json_t *timed = timed_of(taking, row);
    if (!taking->evaluated.pending) return STATUS_OK;
    if (json_array_size(taking->seconds) > json_array_size(json_object_get(timed, "samples"))) {
        json_object_set(timed, "samples", taking->seconds);
        json_object_set_new(json_object_get(row, "timing"), mode_name(taking->mode), row_timing(timed));
    }
    return evaluate_finish(&self->instance, &taking->session, taking->evaluated.bound, &(Counter){0}, row);
}

Status series_take(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, size_t samples, json_t **row) {
    Taking taking;
    *row = NULL;
    Status status = make_taking(self, item, choice, mode, &taking);
    if (status == STATUS_OK) status = take_all(self, &taking, samples, row);
    child_stop(taking.host.child);
    if (status == STATUS_OK) status = finish(self, &taking, *row);
    json_decref(taking.seconds);
    if (status == STATUS_OK) return STATUS_OK;
    json_decref(*row);
    *row = NULL;
    return status;
}

void series_close(Series *self) {
    if (self->instance.op) instance_destroy(&self->instance);
    self->instance = (Instance){0};
    self->item = NULL;
}
