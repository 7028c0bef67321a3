
#include "base/memory.h"
#include "pipeline/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    double *seconds; /* of all samples so far */
    size_t count;
} Taking;

static void make_taking(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, Taking *out) {
    if (self->item != item) series_close(self);
    self->item = item;
    *out = (Taking){.item = *item, .options = *self->options, .mode = mode};
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
}

/* The end of the worker is part of what the variant did. */
static void end_host(Taking *taking, Row *row) {
    const Status status = taking->host.child && taking->evaluated.pending
                              ? child_end(taking->host.child, taking->options.timeout_seconds)
                              : STATUS_OK;
    child_stop(taking->host.child);
    taking->host = (Host){0};
    if (status == STATUS_OK) return;
    taking->evaluated.pending = false;
    row_decide(row, VERDICT_ERROR, status_message());
}

static Status begin_row(const Taking *taking, Row *row) {
    row_free(row);
    return row_begin("", &taking->item, &taking->item.problem, taking->session.choice, false, row);
}

static Status add_samples(Taking *taking, const ModeTiming *timed) {
    double *seconds = realloc(taking->seconds, (taking->count + timed->count + 1) * sizeof *seconds);
    if (!seconds) return status_fail(STATUS_MEMORY, "no memory for samples");
    taking->seconds = seconds;
    for (size_t i = 0; i < timed->count; i++) seconds[taking->count++] = timed->seconds[i];
    return STATUS_OK;
}

static Status evaluate_some(Series *self, Taking *taking, size_t samples, Row *row) {
    taking->options.min_samples = taking->options.max_samples = samples;
    TRY(begin_row(taking, row));
    TRY(evaluate(&self->instance, &taking->session, &taking->host, row, &taking->evaluated));
    return taking->evaluated.pending ? add_samples(taking, &row->timing[taking->mode]) : STATUS_OK;
}

static Status need_gpu(Taking *taking, Row *row) {
    char reason[320];
    snprintf(reason, sizeof reason, "needs a GPU: %s", taking->session.no_gpu_reason);
    TRY(begin_row(taking, row));
    row_decide(row, VERDICT_SKIP, reason);
    return STATUS_OK;
}

/* Until there are so many, or there are none to be had. */
static Status take_all(Series *self, Taking *taking, size_t samples, Row *row) {
    if (taking->session.choice->entry->backend == BACKEND_CUDA && taking->session.no_gpu_reason) return need_gpu(taking, row);
    for (bool more = true; more;) {
        const size_t missing = samples - taking->count, before = taking->count;
        TRY(evaluate_some(self, taking, missing < AT_ONCE_MOST ? missing : AT_ONCE_MOST, row));
        more = taking->evaluated.pending && taking->count > before && taking->count < samples;
        if (!more || !taking->host.reusable) end_host(taking, row);
        more = more && taking->evaluated.pending;
    }
    return STATUS_OK;
}

/* Statistics over the samples of all commands; then the row's limit, and its verdict. */
static Status finish(Series *self, Taking *taking, Row *row) {
    ModeTiming *timed = &row->timing[taking->mode];
    if (!taking->evaluated.pending) return STATUS_OK;
    if (taking->count > timed->count) {
        memory_free(timed->seconds);
        memory_free(timed->sm_mhz); /* of the last command only */
        timed->sm_mhz = NULL;
        timed->seconds = taking->seconds, timed->count = taking->count;
        taking->seconds = NULL;
        timed->stats = stats_of(timed->seconds, timed->count);
    }
    finish_row(&self->instance, &taking->session, taking->evaluated.bound, &(Counter){0}, row);
    return STATUS_OK;
}

Status series_take(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, size_t samples, Row *row) {
    Taking taking;
    make_taking(self, item, choice, mode, &taking);
    Status status = take_all(self, &taking, samples, row);
    child_stop(taking.host.child);
    if (status == STATUS_OK) status = finish(self, &taking, row);
    free(taking.seconds);
    if (status != STATUS_OK) row_free(row);
    return status;
}

void series_close(Series *self) {
    if (self->instance.op) instance_destroy(&self->instance);
    self->instance = (Instance){0};
    self->item = NULL;
}
