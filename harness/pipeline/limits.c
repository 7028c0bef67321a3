#include "pipeline/limits.h"

#include "protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* Outputs that the variant gives are written whole, or it would not have passed. */
static double find_written(const Instance *instance, const VariantEntry *entry) {
    double bytes = 0;
    for (int i = 0; i < instance->op->out_count; i++)
        if (registry_gives(entry, instance->given[i].name)) bytes += (double)array_bytes(&instance->given[i]);
    return bytes;
}

/* ---- Questions to the worker. */

static Status start(LimitWorker *worker) {
    const char *const argv[] = {"/proc/self/exe", "worker", NULL};
    return worker->child ? STATUS_OK : child_start(&(ChildOptions){.argv = argv}, &worker->child);
}

static json_t *mode_names_of(unsigned modes) {
    json_t *names = json_array();
    for (int m = 0; m < MEASURE_MODE_COUNT; m++)
        if (modes & 1u << m) json_array_append_new(names, json_string(mode_name((Mode)m)));
    return names;
}

/* Measures the limits of these modes; shorter ones replace those in `moved`. False if the device cannot tell: the worker has the
 * reason. */
static bool ask(Limits *limits, Moved *moved, unsigned modes, bool confirm) {
    LimitWorker *worker = &limits->workers[moved->kind];
    json_t *reply = NULL;
    Limit found[MEASURE_MODE_COUNT];
    if (worker->why_none[0]) return false;
    json_t *command = json_pack("{s:s, s:s, s:i, s:f, s:f, s:o, s:b}", KEY_DO, DO_LIMIT, KEY_KIND, KIND_NAMES[moved->kind],
                                KEY_DEVICE, limits->device, KEY_BYTES_READ, moved->read, KEY_BYTES_WRITTEN, moved->written,
                                KEY_MODES, mode_names_of(modes), KEY_CONFIRM, confirm);
    Status status = start(worker);
    if (status == STATUS_OK) status = child_ask(worker->child, command, TIMEOUT_SECONDS, &reply);
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

/* Peers run where they say. */
static int kind_of(const VariantEntry *entry) {
    return entry->backend == BACKEND_CUDA || (entry->backend == BACKEND_PEER && entry->needs_gpu) ? 1 : 0;
}

/* The first mode that stays faster however often its limit is measured. *moved gets what was measured for this row alone. */
static Mode confirmed(Limits *limits, Moved *moved, const Row *row) {
    Mode mode = beaten(row, moved);
    for (int i = 0; i < CONFIRMATIONS && mode != MODE_COUNT; i++) {
        if (i > 0) nanosleep(&BETWEEN, NULL);
        if (!ask(limits, moved, held_modes(row), true)) return MODE_COUNT; /* one measurement alone fails no row */
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
    if (missing) ask(limits, known, missing, false);
    Moved found = *known;
    *mode = confirmed(limits, &found, row);
    write_limits(row, &found);
    if (*mode != MODE_COUNT) explain(row, &found, *mode, reason);
    return limits->workers[wanted->kind].why_none[0] ? limits->workers[wanted->kind].why_none : NULL;
}

bool limits_hold(Limits *limits, Instance *instance, const Session *session, int bound, Row *row, char reason[512]) {
    Moved wanted = {.kind = kind_of(session->choice->entry)};
    const char *why = !row->timed ? "not timed" : session->options->no_ceilings || !limits ? "peaks were not measured" : NULL;
    Mode mode = MODE_COUNT;
    write_rates(row);
    if (!why) {
        wanted.read = instance_least_read(instance, bound);
        wanted.written = find_written(instance, session->choice->entry);
        why = wanted.read + wanted.written == 0 ? "no bytes to move" : hold(limits, &wanted, row, &mode, reason);
    }
    row_set_text(&row->limit_reason, why);
    return mode == MODE_COUNT;
}
