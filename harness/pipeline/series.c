
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
    VariantWorker worker;
    double *seconds; /* of all samples so far */
    size_t count;
} Taking;

static void make_taking(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, Row *row, Taking *out) {
    if (self->item != item) series_close(self);
    self->item = item;
    *out = (Taking){.item = *item, .options = *self->options, .mode = mode};
    out->item.modes = 1u << mode;
    out->options.no_counts = true;
    out->options.bit_calls = 0;
    out->options.seconds_per_mode = AT_ONCE_SECONDS;
    out->session = (Session){.choice = choice,
                             .item = &out->item,
                             .problem = &item->problem,
                             .options = &out->options,
                             .no_gpu_reason = self->no_gpu_reason,
                             .limits = self->limits,
                             .instance = &self->instance,
                             .deadline = INFINITY,
                             .row = row};
}

/* The end of the worker is part of what the variant did. */
static void end_worker(Taking *taking) {
    const Status status = taking->worker.child && taking->session.pending
                              ? child_end(taking->worker.child, taking->options.timeout_seconds)
                              : STATUS_OK;
    child_stop(taking->worker.child);
    taking->worker = (VariantWorker){0};
    if (status == STATUS_OK) return;
    taking->session.pending = false;
    row_decide(taking->session.row, VERDICT_ERROR, status_message());
}

static Status begin_row(const Taking *taking) {
    Row *row = taking->session.row;
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

static Status evaluate_some(Taking *taking, size_t samples) {
    taking->options.min_samples = taking->options.max_samples = samples;
    TRY(begin_row(taking));
    TRY(evaluate(&taking->session, &taking->worker));
    return taking->session.pending ? add_samples(taking, &taking->session.row->timing[taking->mode]) : STATUS_OK;
}

static Status need_gpu(Taking *taking) {
    char reason[320];
    snprintf(reason, sizeof reason, "needs a GPU: %s", taking->session.no_gpu_reason);
    TRY(begin_row(taking));
    row_decide(taking->session.row, VERDICT_SKIP, reason);
    return STATUS_OK;
}

/* Until there are so many, or there are none to be had. */
static Status take_all(Taking *taking, size_t samples) {
    if (taking->session.choice->entry->backend == BACKEND_CUDA && taking->session.no_gpu_reason) return need_gpu(taking);
    for (bool more = true; more;) {
        const size_t missing = samples - taking->count, before = taking->count;
        TRY(evaluate_some(taking, missing < AT_ONCE_MOST ? missing : AT_ONCE_MOST));
        more = taking->session.pending && taking->count > before && taking->count < samples;
        if (!more || !taking->worker.reusable) end_worker(taking);
        more = more && taking->session.pending;
    }
    return STATUS_OK;
}

/* Statistics over the samples of all commands; then the row's limit, and its verdict. */
static void finish(Taking *taking) {
    ModeTiming *timed = &taking->session.row->timing[taking->mode];
    if (!taking->session.pending) return;
    if (taking->count > timed->count) {
        memory_free(timed->seconds);
        memory_free(timed->sm_mhz); /* of the last command only */
        timed->sm_mhz = NULL;
        timed->seconds = taking->seconds, timed->count = taking->count;
        taking->seconds = NULL;
        timed->stats = stats_of(timed->seconds, timed->count);
    }
    finish_row(&taking->session, &(Counter){0});
}

Status series_take(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, size_t samples, Row *row) {
    Taking taking;
    make_taking(self, item, choice, mode, row, &taking);
    Status status = take_all(&taking, samples);
    child_stop(taking.worker.child);
    if (status == STATUS_OK) finish(&taking);
    free(taking.seconds);
    if (status != STATUS_OK) row_free(row);
    return status;
}

void series_close(Series *self) {
    if (self->instance.op) instance_destroy(&self->instance);
    self->instance = (Instance){0};
    self->item = NULL;
}
