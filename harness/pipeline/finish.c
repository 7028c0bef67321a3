#include "pipeline/evaluate.h"

#include "base/clock.h"
#include "protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The limit: each timed row is held to the least time that its device needs for the bytes that any correct variant moves. */

enum { CONFIRMATIONS = 3, KINDS = 2, WHY_MAX = 512 };
static const double TIMEOUT_SECONDS = 120;
static const struct timespec BETWEEN = {.tv_nsec = 200000000}; /* whatever disturbs a CPU may be over then */
static const char *const KIND_NAMES[KINDS] = {"cpu", "cuda"};

/* The worker that measures the limits of one kind of device; a reason instead once it failed. */
typedef struct LimitWorker {
    Child *child;
    char why_none[WHY_MAX];
} LimitWorker;

/* The least times to move these bytes, in the modes that were asked for so far: the shortest that were ever measured. */
typedef struct Moved {
    int kind;
    double read, written; /* bytes */
    unsigned asked;       /* bit per mode */
    Limit limits[MEASURE_MODE_COUNT];
} Moved;

struct Limits {
    int device;
    LimitWorker workers[KINDS];
    Moved *known;
    size_t count;
};

Status limits_open(int device, Limits **out) {
    Limits *limits = calloc(1, sizeof *limits);
    if (!limits) return status_fail(STATUS_MEMORY, "no memory for the limits of a run");
    limits->device = device;
    *out = limits;
    return STATUS_OK;
}

void limits_close(Limits *limits) {
    if (!limits) return;
    for (int k = 0; k < KINDS; k++) child_stop(limits->workers[k].child);
    free(limits->known);
    free(limits);
}

/* ---- Bytes. */

/* Outputs that the variant gives are written whole, or it would not have passed; of an array that it updates in place nothing has
 * to be, where the result is what was there. */
static double find_written(const Instance *instance, const VariantEntry *entry) {
    double bytes = 0;
    for (int i = 0; i < instance->op->out_count; i++)
        if (registry_gives(entry, instance->given[i].name) && !instance_updates(instance, i))
            bytes += (double)array_bytes(&instance->given[i]);
    return bytes;
}

/* ---- Questions to the worker. */

static json_t *mode_names_of(unsigned modes) {
    json_t *names = json_array();
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (modes & 1u << m) json_array_append_new(names, json_string(mode_name((Mode)m)));
    return names;
}

/* Measures the limits of these modes; shorter ones replace those in `moved`. False if the device cannot tell: the worker has the
 * reason. */
static bool measure(Limits *limits, Moved *moved, unsigned modes, bool confirm) {
    LimitWorker *worker = &limits->workers[moved->kind];
    json_t *reply = NULL;
    Limit found[MEASURE_MODE_COUNT];
    if (worker->why_none[0]) return false;
    json_t *command = json_pack("{s:s, s:s, s:i, s:f, s:f, s:o, s:b}", KEY_DO, DO_LIMIT, KEY_KIND, KIND_NAMES[moved->kind],
                                KEY_DEVICE, limits->device, KEY_BYTES_READ, moved->read, KEY_BYTES_WRITTEN, moved->written,
                                KEY_MODES, mode_names_of(modes), KEY_CONFIRM, confirm);
    Status status = worker->child ? STATUS_OK : child_start(&(ChildOptions){0}, &worker->child);
    if (status == STATUS_OK)
        status = child_ask(worker->child, command, TIMEOUT_SECONDS, &reply);
    else
        json_decref(command);
    if (status != STATUS_OK)
        snprintf(worker->why_none, sizeof worker->why_none, "limits of the %s not measured: %s", KIND_NAMES[moved->kind],
                 status_message());
    limits_read(json_object_get(reply, KEY_LIMIT), found);
    json_decref(reply);
    moved->asked |= status == STATUS_OK ? modes : 0;
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (status == STATUS_OK && modes & 1u << m && !(found[m].seconds >= moved->limits[m].seconds)) moved->limits[m] = found[m];
    return status == STATUS_OK;
}

/* What is known of these bytes; NULL without memory. */
static Moved *known_for(Limits *limits, const Moved *wanted) {
    for (size_t i = 0; i < limits->count; i++) {
        Moved *known = &limits->known[i];
        if (known->kind == wanted->kind && known->read == wanted->read && known->written == wanted->written) return known;
    }
    Moved *known = realloc(limits->known, (limits->count + 1) * sizeof *known);
    if (!known) return NULL;
    limits->known = known;
    known[limits->count] = *wanted;
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) known[limits->count].limits[m].seconds = NAN;
    return &known[limits->count++];
}

/* ---- A row. */

/* Modes whose time bytes can limit: loading and compiling are in `first`, and `enqueue` is the host's time alone. */
static unsigned held_modes(const Row *row) {
    unsigned modes = 0;
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (m != MODE_ENQUEUE && isfinite(row->timing[m].stats.median) && row->timing[m].count > 0) modes |= 1u << m;
    return modes;
}

/* The first mode that is faster than the limits; MODE_COUNT: none. */
static Mode beaten(const Row *row, const Moved *moved) {
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        const ModeTiming *timed = &row->timing[m];
        if (held_modes(row) & 1u << m &&
            limit_is_beaten(timed->stats.median, moved->limits[m].seconds, moved->kind != 0, timed->calls_per_sample))
            return (Mode)m;
    }
    return MODE_COUNT;
}

static void explain(const Row *row, const Moved *moved, Mode mode, char reason[512]) {
    const Limit *limit = &moved->limits[mode];
    snprintf(reason, 512,
             "faster than the hardware: %s %.3g s, but this device needs at least %.3g s to read %.0f and write %.0f bytes (%s); "
             "work is missing from the timed calls, or the clock is wrong",
             mode_name(mode), row->timing[mode].stats.median, limit->seconds, moved->read, moved->written, limit->kernel);
}

/* The first mode that stays faster however often its limit is measured. *moved gets what was measured for this row alone. */
static Mode confirmed(Limits *limits, Moved *moved, const Row *row) {
    Mode mode = beaten(row, moved);
    for (int i = 0; i < CONFIRMATIONS && mode != MODE_COUNT; i++) {
        if (i > 0) nanosleep(&BETWEEN, NULL);
        if (!measure(limits, moved, held_modes(row), true)) return MODE_COUNT; /* one measurement alone fails no row */
        mode = beaten(row, moved);
    }
    return mode;
}

static void write_limits(Row *row, const Moved *moved) {
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        ModeTiming *timed = &row->timing[m];
        const Limit *limit = &moved->limits[m];
        if (!(held_modes(row) & 1u << m) || !isfinite(limit->seconds)) continue;
        timed->limit.seconds = limit->seconds;
        timed->limit.bytes_read = moved->read, timed->limit.bytes_written = moved->written;
        timed->limit.sector_bytes = limit_sector_bytes(moved->kind != 0);
        timed->limit.share = limit->seconds / timed->stats.median;
        snprintf(timed->limit.kernel, sizeof timed->limit.kernel, "%s", limit->kernel);
    }
}

/* Bytes and elements per second of each mode, by the op's work; NaN without elements or a time. */
static void write_rates(Row *row) {
    for (int m = 0; m < MODE_COUNT; m++) {
        const double median = row->timing[m].stats.median;
        row->timing[m].bytes_per_second = row->work.bytes > 0 ? row->work.bytes / median : NAN;
        row->timing[m].elements_per_second = row->work.elements > 0 ? row->work.elements / median : NAN;
    }
}

/* Holds the row to what is measured; NULL: it has been. *mode: that is faster. */
static const char *hold(Limits *limits, const Moved *wanted, Row *row, Mode *mode, char reason[512]) {
    Moved *known = known_for(limits, wanted);
    if (!known) return "no memory for limits";
    const unsigned missing = held_modes(row) & ~known->asked;
    if (missing) measure(limits, known, missing, false);
    Moved found = *known;
    *mode = confirmed(limits, &found, row);
    write_limits(row, &found);
    if (*mode != MODE_COUNT) explain(row, &found, *mode, reason);
    return limits->workers[wanted->kind].why_none[0] ? limits->workers[wanted->kind].why_none : NULL;
}

/* Gives each timed mode of the row its rates and its limit; why there is none goes into `limit_reason`. False if a median beats
 * its limit (measure/limit.h), and those of three measurements after that: then `reason` names the mode, both times and the bytes.
 * session->limits: NULL if the run measures none. */
static bool limits_hold(const Session *session, char reason[512]) {
    Row *row = session->row;
    Limits *limits = session->limits;
    Moved wanted = {.kind = session_on_gpu(session->choice->entry, false) ? 1 : 0};
    const char *why = !row->timed ? "not timed" : session->options->no_ceilings || !limits ? "peaks were not measured" : NULL;
    Mode mode = MODE_COUNT;
    write_rates(row);
    if (!why) {
        wanted.read = instance_least_read(session->instance, session->bound, wanted.kind != 0);
        wanted.written = find_written(session->instance, session->choice->entry);
        why = wanted.read + wanted.written == 0 ? "no bytes to move" : hold(limits, &wanted, row, &mode, reason);
    }
    row_set_text(&row->limit_reason, why);
    return mode == MODE_COUNT;
}

/* ---- Counts. */

static const double SLOW_SECONDS = 1; /* a call that takes longer is not made five times more to be counted */
static const double CALLS = 8;        /* a warm-up call and the counted ones, each as slow as a call may be */
static const double SECONDS_PER_BYTE = 4e-9;
static const size_t CUPTI_BYTES = (size_t)1 << 30; /* of host memory: not the variant's */

typedef struct Reasons {
    Status worst; /* STATUS_CHECK: what was counted shows that the variant fails */
    char text[1024];
    size_t used;
} Reasons;

static void because(Reasons *reasons, const char *what, const char *why) {
    const size_t room = sizeof reasons->text - reasons->used;
    const int wrote =
        snprintf(reasons->text + reasons->used, room, "%s%s%s%s", reasons->used ? "; " : "", what, *what ? ": " : "", why);
    reasons->used += wrote < 0 ? 0 : (size_t)wrote < room ? (size_t)wrote : room - 1;
}

double row_call_seconds(const Row *row) {
    for (int m = 0; m < MODE_COUNT; m++)
        if (row->timing[m].count > 0) return row->timing[m].stats.median;
    return 0;
}

/* NULL: it is to be counted. */
static const char *why_not(const Session *session) {
    const Backend backend = session->choice->entry->backend;
    if (backend == BACKEND_CPU) return "runs on the CPU";
    if (backend == BACKEND_PEER) return "a Python library: its launches are not counted";
    if (session->emulated) return "emulated";
    if (session->options->no_counts) return "counting was turned off";
    if (!session->row->timed) return "not timed";
    if (session->item && session->item->uncounted) return "a campaign counts a variant in one case, and no sweeps";
    if (row_call_seconds(session->row) > SLOW_SECONDS) return "a call takes more than 1 s";
    return NULL;
}

/* One `count`. row: its counts get what is counted; why nothing is goes into reasons. False: the worker is gone. */
static bool count(const Session *session, Child *child, const char *what, double timeout, Reasons *reasons) {
    Row *row = session->row;
    json_t *command = json_pack("{s:s, s:s}", KEY_DO, DO_COUNT, KEY_WHAT, what), *reply = NULL;
    const Status status = child_ask(child, command, timeout, &reply);
    if (status != STATUS_OK) {
        reasons->worst = status;
        because(reasons, status == STATUS_CHECK ? "" : what, status_message());
        return false;
    }
    const char *why = reply_counts(reply, &row->counts);
    if (why) because(reasons, what, why);
    json_decref(reply);
    return true;
}

static void count_all(const Session *session, Child *child, double timeout, Reasons *reasons) {
    static const char *const WHAT[] = {WHAT_MEMORY, WHAT_LAUNCHES, WHAT_BYTES};
    bool alive = true;
    for (size_t i = 0; i < sizeof WHAT / sizeof *WHAT && alive; i++) alive = count(session, child, WHAT[i], timeout, reasons);
}

/* In the worker that counted for the variant's other cases, if it runs. */
static Status open_in(Child **child, const Session *session, double timeout) {
    TRY(*child ? STATUS_OK : session_start(session, timeout, child));
    return session_open(session, *child, timeout, NULL);
}

static void stop(Child **child) {
    child_stop(*child);
    *child = NULL;
}

static void open_and_count(const Session *session, Child **child, Reasons *reasons) {
    const double timeout = CALLS * session->options->timeout_seconds + SECONDS_PER_BYTE * (double)instance_bytes(session->instance);
    bool reusable = false;
    if (!session->options->shared_workers) stop(child);
    const bool fresh = !*child;
    Status status = open_in(child, session, timeout);
    if (status != STATUS_OK && !fresh) { /* whatever another case left there */
        stop(child);
        status = open_in(child, session, timeout);
    }
    if (status == STATUS_OK) child_allow(*child, CUPTI_BYTES);
    if (status == STATUS_OK)
        count_all(session, *child, timeout, reasons);
    else
        because(reasons, "", status_message());
    const bool replied = status == STATUS_OK && reasons->worst == STATUS_OK;
    if (!replied || session_end(*child, timeout, &reusable) != STATUS_OK || !reusable) stop(child);
}

void counts_take(const Session *session, Counter *counter) {
    Row *row = session->row;
    const char *why = clock_seconds() > session->deadline ? "the budget was spent" : why_not(session);
    if (why) row_set_text(&row->counts_reason, why);
    if (row->verdict != VERDICT_PASS || why || resume_counts(counter->known, row)) return;
    const double begin = clock_seconds();
    Reasons reasons = {0};
    open_and_count(session, &counter->child, &reasons);
    row->counts.seconds = clock_seconds() - begin;
    if (reasons.worst == STATUS_CHECK) {
        counts_free(&row->counts);
        row_decide(row, VERDICT_FAIL, reasons.text);
    } else {
        row_set_text(&row->counts_reason, reasons.used ? reasons.text : NULL);
    }
    if (!reasons.used) resume_counted(counter->known, row);
}

/* ---- The end. */

/* NULL, or what the device's heat did to the row's times. */
static const char *why_throttled(const Row *row) {
    static char text[160];
    for (int m = 0; m < MODE_COUNT; m++) {
        const ModeTiming *timed = &row->timing[m];
        snprintf(text, sizeof text, "throttled: %zu of %zu samples of %s, though taken again after pauses of up to 4 s",
                 timed->conditions.remain, timed->count, mode_name((Mode)m));
        if (timed->count > 0 && timed->conditions.throttled) return text;
    }
    return NULL;
}

/* Launches, bytes and allocations come last, in another worker: counting slows calls down. */
void finish_row(const Session *session, Counter *counter) {
    char reason[512];
    if (limits_hold(session, reason)) {
        row_decide(session->row, VERDICT_PASS, why_throttled(session->row));
        counts_take(session, counter);
    } else {
        row_decide(session->row, VERDICT_FAIL, reason);
    }
}
