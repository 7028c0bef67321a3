/* Timing on the CPU: the steady clock around the call. Threads are not pinned here: a variant's OpenMP threads inherit the mask of
 * the thread that starts them, so pinning the caller to one core would run all of them there. Who wants pinning sets OMP_PLACES and
 * OMP_PROC_BIND, or starts the program under taskset or numactl; both reach the workers. */
#include "base/process.h"
#include "measure/measure.h"
#include "measure/moves_cpu.h"
#include "protocol.h"

#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const size_t CALLS_MAX = (size_t)1 << 20;

typedef struct CpuSession {
    const MeasuredWork *work;
    size_t calls;
    double between_seconds; /* of one; the least of all that were measured: 0: none */
    bool cold;
} CpuSession;

static uint64_t *sweep; /* what is read to empty the caches; NULL: not made yet */

Status measure_cool(void) {
    static size_t words;
    if (!sweep) sweep = cache_sweep_open(&words);
    if (!sweep)
        return status_fail(STATUS_UNSUPPORTED, "no host memory for the %zu bytes that empty the caches", cache_sweep_bytes());
    return cache_sweep(sweep, words);
}

void measure_cool_end(void) {
    free(sweep);
    sweep = NULL;
}

/* What between() takes, with the calls left out. */
static Status measure_between(CpuSession *session) {
    enum { TIMES = 64 };
    const MeasuredWork *work = session->work;
    TRY(work->between(work->between_context, TIMES, false));
    const double begin = clock_seconds();
    for (size_t left = TIMES; left-- > 0;) TRY(work->between(work->between_context, left, false));
    const double seconds = (clock_seconds() - begin) / TIMES;
    if (session->between_seconds == 0 || seconds < session->between_seconds) session->between_seconds = seconds;
    return STATUS_OK;
}

Status measure_calls(const MeasuredWork *work, size_t calls, double *seconds) {
    const double begin = clock_seconds();
    TRY(work->run(work->context));
    for (size_t left = calls - 1; left-- > 0;) {
        if (work->between) TRY(work->between(work->between_context, left, true));
        TRY(work->run(work->context));
    }
    *seconds = clock_seconds() - begin;
    return STATUS_OK;
}

/* Of so many calls those before the last, and what that finds. */
static Status call_before_last(const MeasuredWork *work, size_t calls) {
    for (size_t left = calls; left-- > 1;) {
        if (work->between) TRY(work->between(work->between_context, left, false));
        TRY(work->run(work->context));
    }
    return work->between && calls > 1 ? work->between(work->between_context, 0, false) : STATUS_OK;
}

size_t measure_fewer(size_t calls) {
    const uint64_t now = (uint64_t)(1e9 * clock_seconds());
    return calls - rng_at(now, 0) % ((calls + 1) / 3 + 1);
}

static Status take(void *context, Sample *sample) {
    CpuSession *session = context;
    const MeasuredWork *work = session->work;
    const size_t calls = measure_fewer(session->calls);
    const bool rewrites = work->between && calls > 1;
    double all;
    if (session->cold) TRY(measure_cool());
    if (work->rested) TRY(work->rested(work->context));
    if (work->last) {
        TRY(call_before_last(work, session->calls));
        return measure_calls(work, 1, &sample->seconds);
    }
    if (rewrites) {
        TRY(measure_between(session));
        TRY(work->between(work->between_context, calls - 1, false));
    }
    TRY(measure_calls(work, calls, &all));
    const double own = rewrites ? session->between_seconds * (double)(calls - 1) : 0;
    sample->seconds = fmax(all - own, all / 1024) / (double)calls; /* never 0 */
    sample->between = all / (double)calls - sample->seconds;
    return STATUS_OK;
}

static Status none(Samples *out, const char *why) {
    snprintf(out->why_none, sizeof out->why_none, "%s", why);
    return STATUS_OK;
}

Status measure_cpu(Mode mode, const MeasuredWork *work, const SamplingPace *pace, Samples *out) {
    *out = (Samples){.calls_per_sample = 1, .clock = "steady clock"};
    if (mode == MODE_GRAPH) return none(out, "a CPU variant has no CUDA graph");
    if (mode == MODE_ENQUEUE || mode == MODE_COMPLETE) return none(out, "a CPU variant is done when its call returns; see `hot`");
    CpuSession session = {.work = work, .calls = 1, .cold = mode == MODE_COLD};
    const SamplingSource source = {mode, work, take, &session, pace, false};
    Sample pilot;
    Status status = session.cold ? measure_cool() : STATUS_OK;
    if (status == STATUS_UNSUPPORTED) return none(out, status_message());
    if (status == STATUS_OK) status = sampling_pilot(&source, &pilot);
    if (status == STATUS_OK && mode == MODE_HOT) status = sampling_grow(&source, &session.calls, CALLS_MAX, &pilot);
    if (status == STATUS_OK) status = sampling_run(&source, &pilot, out);
    out->calls_per_sample = work->last ? 1 : session.calls;
    out->between_seconds = session.between_seconds;
    measure_cool_end();
    return status;
}

/* Up to the end of a line; the parent says no more until it has a reply. */
static Status read_command(int commands) {
    char part[256];
    ssize_t got;
    process_stay_awake(commands);
    do got = read(commands, part, sizeof part);
    while (got > 0 && !memchr(part, '\n', (size_t)got));
    return got > 0 ? STATUS_OK : status_fail(STATUS_IO, "the parent is gone");
}

/* Until the parent has it: what follows here would keep a processor of a busy machine that it waits for. */
static void reply(int replies, const char *text) {
    const double end = clock_seconds() + 0.1;
    int left = 0;
    if (write(replies, text, strlen(text)) < 0) return;
    while (ioctl(replies, FIONREAD, &left) == 0 && left > 0 && clock_seconds() < end) sched_yield();
}

Status measure_asked(const MeasuredWork *work, bool cold, size_t calls, int commands, int replies, double *seconds) {
    char text[80];
    *seconds = 0;
    if (cold) TRY(measure_cool());
    if (work->rested) TRY(work->rested(work->context));
    TRY(call_before_last(work, work->after ? 1 : calls));
    measure_look_at_handlers();
    (void)dprintf(replies, "{\"%s\": true}\n", KEY_OK);
    TRY(read_command(commands));
    if (calls > 0) TRY(measure_calls(work, 1, seconds));
    snprintf(text, sizeof text, "{\"%s\": true, \"%s\": %.9g}\n", KEY_OK, KEY_SECONDS, *seconds);
    reply(replies, text);
    return STATUS_OK;
}
