#include "worker/worker.h"

#include "base/clock.h"
#include "base/stats.h"

#include <math.h>

enum { WINDOWS = 3, BATCH_MOST = 1024 };
static const double WINDOW_SECONDS = 2, IDLE_SECONDS = 1, BATCH_SECONDS = 5e-3, STILL_SECONDS = 5;

typedef struct Meter {
    Worker *worker;
    const WorkerMeasure *measure;
    const MeasuredWork *work; /* NULL: the device is idle */
    size_t batch, calls;      /* batch: the calls between two looks at the counter */
    double mhz;               /* sum over batches of the window */
    size_t looks;
} Meter;

typedef struct Reading {
    double joules, seconds; /* of the device's counter; on the steady clock */
} Reading;

static Status look(Meter *self, Reading *out) {
    double mhz = NAN;
    TRY(self->measure->energy(self->worker->device, &out->joules, &mhz));
    out->seconds = clock_seconds();
    self->mhz += mhz, self->looks++;
    return STATUS_OK;
}

/* Calls, each on inputs of another state; the last on those of the key. */
static Status go_on(Meter *self) {
    double seconds;
    if (!self->work) {
        nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
        return STATUS_OK;
    }
    TRY(self->work->between(self->work->between_context, self->batch - 1, false));
    TRY(self->measure->calls(self->worker->device, self->work, self->batch, &seconds));
    self->calls += self->batch;
    return STATUS_OK;
}

/* Until the counter has gone on, `seconds` after `from` at the earliest. */
static Status to_tick(Meter *self, double from, double seconds, Reading *out) {
    Reading before;
    TRY(look(self, &before));
    for (*out = before; out->joules == before.joules || out->seconds < from + seconds;) {
        if (out->joules == before.joules && out->seconds > before.seconds + seconds + STILL_SECONDS)
            return status_fail(STATUS_UNSUPPORTED, "the energy counter stands still");
        if (out->seconds < from + seconds) before.joules = out->joules;
        TRY(go_on(self));
        TRY(look(self, out));
    }
    return STATUS_OK;
}

/* From one tick of the counter to another. */
static Status window(Meter *self, double seconds, Reading *spent) {
    Reading begin, end;
    TRY(to_tick(self, 0, 0, &begin));
    self->calls = 0, self->mhz = 0, self->looks = 0;
    TRY(to_tick(self, begin.seconds, seconds, &end));
    *spent = (Reading){end.joules - begin.joules, end.seconds - begin.seconds};
    return spent->joules >= 0 ? STATUS_OK : status_fail(STATUS_UNSUPPORTED, "the energy counter went back");
}

Status energy_take(Worker *worker, const MeasuredWork *work, const WorkerMeasure *measure, Energy *out) {
    Meter meter = {.worker = worker, .measure = measure};
    Reading idle, spent;
    double joules[WINDOWS], watts = 0, mhz = 0;
    TRY(window(&meter, IDLE_SECONDS, &idle));
    meter.work = work;
    meter.batch = (size_t)fmin(fmax(BATCH_SECONDS / fmax(worker->call_seconds, 1e-9), 1), BATCH_MOST);
    *out = (Energy){.idle_watts = idle.joules / idle.seconds};
    for (int i = 0; i < WINDOWS; i++) {
        TRY(window(&meter, WINDOW_SECONDS, &spent));
        joules[i] = (spent.joules - out->idle_watts * spent.seconds) / (double)meter.calls;
        watts += spent.joules / spent.seconds / WINDOWS, mhz += meter.mhz / (double)meter.looks / WINDOWS;
        out->calls += meter.calls, out->seconds += spent.seconds;
    }
    const Stats stats = stats_of(joules, WINDOWS);
    out->joules = stats.median, out->low = stats.min, out->high = stats.max, out->watts = watts, out->sm_mhz = mhz;
    return STATUS_OK;
}
