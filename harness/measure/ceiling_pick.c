#include "measure/ceilings.h"

#include "base/stats.h"

static const MeasureLimits GLANCE = {.min_samples = 3, .max_samples = 7, .seconds = 0.02};
static const MeasureLimits LOOK = {.min_samples = 9, .max_samples = 51, .seconds = 0.2};

static Status time_trial(const CeilingTask *task, const CeilingTrial *trial, const MeasureLimits *limits, Stats *stats) {
    Samples samples;
    TRY(task->timer(task->timer_context, &trial->work, limits, &samples));
    if (samples.count == 0)
        return status_fail(STATUS_UNSUPPORTED, "ceiling %s, %s: %s", task->name, trial->method, samples.why_none);
    *stats = stats_of(samples.seconds, samples.count);
    samples_free(&samples);
    return STATUS_OK;
}

static Status fastest(const CeilingTask *task, const CeilingTrial **best) {
    double best_seconds = 0;
    for (int i = 0; i < task->trial_count; i++) {
        Stats stats = {0};
        TRY(time_trial(task, &task->trials[i], &GLANCE, &stats));
        if (!(stats.median > 0)) continue;
        if (*best && stats.median >= best_seconds) continue;
        *best = &task->trials[i];
        best_seconds = stats.median;
    }
    return *best ? STATUS_OK : status_fail(STATUS_INTERNAL, "ceiling %s: every trial took no time", task->name);
}

Status ceiling_pick(const CeilingTask *task, Ceiling *out) {
    const CeilingTrial *best = task->trial_count == 1 ? &task->trials[0] : NULL;
    if (!best) TRY(fastest(task, &best));
    Stats stats = {0};
    TRY(time_trial(task, best, &LOOK, &stats));
    *out = (Ceiling){.name = task->name, .unit = task->unit, .method = best->method, .bytes = task->bytes};
    if (task->quantity == 0) {
        out->value = stats.median, out->low = stats.q1, out->high = stats.q3;
        return STATUS_OK;
    }
    if (!(stats.q1 > 0)) return status_fail(STATUS_INTERNAL, "ceiling %s: a sample of %a seconds", task->name, stats.q1);
    out->value = task->quantity / stats.median, out->low = task->quantity / stats.q3, out->high = task->quantity / stats.q1;
    return STATUS_OK;
}
