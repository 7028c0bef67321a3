/* calls.c - calls after the samples: do they give the same bits, and what energy do they take? */
#include "worker/worker.h"

#include "base/clock.h"
#include "base/numbers.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* ---- Their bits. */

static const double SLOW_SECONDS = 10e-3, CALLS_SECONDS = 1; /* of a call; of slow ones, for fewer than the least to be enough */

/* Beside the bits what the first call gave: where the parent reads it, and on the device by digests. */
typedef struct Repeats {
    Worker *worker;
    const WorkerMeasure *measure;
    uint64_t random, digest[OP_MAX_ARRAYS];
    double called, quickest; /* seconds of all calls; of one */
    Bits bits;
} Repeats;

static Status digest_of(const Worker *worker, const Array *out, uint64_t *digest) {
    *digest = 0;
    return worker->device->digest && array_bytes(out) > 0 ? worker->device->digest(out->data, array_bytes(out), digest) : STATUS_OK;
}

/* From poisoned outputs. */
static Status repeat_once(Repeats *self) {
    Worker *worker = self->worker;
    TRY(outputs_poison(worker, false));
    TRY(outputs_begin(worker, false));
    TRY(worker->device->wait("preparing the buffers"));
    TRY(self->measure->disturb(worker->device, self->random + self->bits.calls, worker->call_seconds));
    const double begin = clock_seconds();
    TRY(worker_call(worker));
    TRY(worker_wait(worker, worker->id));
    const double seconds = clock_seconds() - begin;
    self->called += seconds, self->quickest = fmin(self->quickest, seconds);
    self->bits.calls++;
    return outputs_end(worker);
}

static Status keep_first(Repeats *self) {
    TRY(outputs_take(self->worker, self->worker->call_seconds));
    for (int i = 0; i < self->worker->out_count; i++)
        TRY(digest_of(self->worker, outputs_array(self->worker, i), &self->digest[i]));
    return STATUS_OK;
}

static Status report_difference(Repeats *self, int i, size_t element) {
    const Worker *worker = self->worker;
    const Array *out = outputs_array(worker, i);
    const size_t size = dtype_size(out->dtype);
    unsigned char other[8] = {0};
    Bits *bits = &self->bits;
    bits->differ = true, bits->element = element;
    snprintf(bits->output, sizeof bits->output, "%s", out->name);
    if (!dtype_is_real(out->dtype) || element >= array_count(out) || element >= worker->counts[i]) return STATUS_OK;
    TRY(worker->device->copy_out(other, (const unsigned char *)out->data + element * size, size));
    const double a = number_in(out->dtype, worker->host_out[i].data, element), b = number_in(out->dtype, other, 0);
    bits->apart = a == b ? 0 : fabs(a - b) / fmax(fabs(a), fabs(b)); /* 0 and -0 */
    return STATUS_OK;
}

static Status compare(Repeats *self, int i) {
    const Worker *worker = self->worker;
    const Array *out = outputs_array(worker, i);
    const size_t count = array_count(out), least = count < worker->counts[i] ? count : worker->counts[i];
    size_t bytes = least * dtype_size(out->dtype), at = bytes;
    uint64_t digest;
    if (count == worker->counts[i]) {
        TRY(digest_of(worker, out, &digest));
        if (worker->device->digest && digest == self->digest[i]) return STATUS_OK;
    }
    TRY(device_first_difference(worker->device, out->data, worker->host_out[i].data, bytes, &at));
    return at < bytes || count != worker->counts[i] ? report_difference(self, i, at / dtype_size(out->dtype)) : STATUS_OK;
}

static Status repeat(Repeats *self, const json_t *command) {
    const size_t least = (size_t)json_integer_value(json_object_get(command, KEY_MIN_SAMPLES)),
                 most = (size_t)json_integer_value(json_object_get(command, KEY_MAX_SAMPLES));
    const double seconds = json_number_value(json_object_get(command, KEY_SECONDS)), begin = clock_seconds();
    Bits *bits = &self->bits;
    for (bool enough = false; !enough && !bits->differ; bits->seconds = clock_seconds() - begin) {
        TRY(repeat_once(self));
        if (bits->calls == 1) TRY(keep_first(self));
        for (int i = 0; i < self->worker->out_count && bits->calls > 1 && !bits->differ; i++) TRY(compare(self, i));
        enough = bits->calls >= most ||
                 (bits->calls >= least ? clock_seconds() - begin >= seconds
                                       : self->quickest > SLOW_SECONDS && self->called >= fmax(CALLS_SECONDS, seconds));
    }
    return bits->differ ? outputs_take(self->worker, 0) : STATUS_OK;
}

Status bits_take(Worker *worker, const json_t *command, const WorkerMeasure *measure, json_t *reply) {
    Repeats self = {.worker = worker,
                    .measure = measure,
                    .random = (uint64_t)(1e9 * clock_seconds()),
                    .quickest = INFINITY,
                    .bits = {.apart = NAN}};
    TRY(inputs_upload(worker, 0));
    TRY(repeat(&self, command));
    if (worker->op->sized_by_data) json_object_set_new(reply, KEY_COUNTS, outputs_counts(worker));
    TRY(outputs_check(worker));
    json_object_set_new(reply, KEY_BITS, bits_json(&self.bits));
    return outputs_begin(worker, false);
}

/* ---- Their energy. */

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
            return status_fail(STATUS_UNSUPPORTED, "not measurable: the energy counter stands still");
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
    return spent->joules >= 0 ? STATUS_OK : status_fail(STATUS_UNSUPPORTED, "not measurable: the energy counter went back");
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
