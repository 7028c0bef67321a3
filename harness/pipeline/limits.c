#include "pipeline/limits.h"

#include "measure/limit.h"
#include "pipeline/rows.h"
#include "plan/case.h"
#include "record/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONFIRMATIONS = 3, KINDS = 2, WHY_MAX = 512, KEY_MAX = CASE_TEXT_MAX + 64 };
static const double TIMEOUT_SECONDS = 120;
static const struct timespec BETWEEN = {.tv_nsec = 200000000}; /* whatever disturbs a CPU may be over then */
static const char *const KIND_NAMES[KINDS] = {"cpu", "cuda"};

/* The worker of one kind of device; a reason instead once it failed. */
typedef struct Teller {
    Child *child;
    char why_none[WHY_MAX];
} Teller;

struct Limits {
    int device;
    Teller tellers[KINDS];
    json_t *known; /* "cpu 8000 8000" -> mode -> {seconds, kernel} */
    json_t *reads; /* instance, bound and case -> the bytes that have to be read */
};

/* What a row is held to. */
typedef struct Bar {
    int kind;
    double read, written;
} Bar;

Status limits_open(int device, Limits **out) {
    Limits *limits = calloc(1, sizeof *limits);
    if (limits) limits->known = json_object(), limits->reads = json_object();
    if (!limits || !limits->known || !limits->reads) {
        limits_close(limits);
        return status_fail(STATUS_MEMORY, "no memory for the limits of a run");
    }
    limits->device = device;
    *out = limits;
    return STATUS_OK;
}

void limits_close(Limits *limits) {
    if (!limits) return;
    for (int k = 0; k < KINDS; k++) child_stop(limits->tellers[k].child);
    json_decref(limits->known);
    json_decref(limits->reads);
    free(limits);
}

/* ---- Bytes. */

/* Of one set of inputs. */
static double least_read(const Instance *instance, DataSet set, int bound) {
    if (instance->op->least_read) return instance->op->least_read(&instance->cases[set], instance->in[set], bound);
    return (double)instance_input_bytes(instance, set);
}

/* Once per case and bound: a pass over the inputs takes a second where there are many. Timed calls run on every set that is there;
 * the one that needs least counts. */
static double find_read(Limits *limits, const Instance *instance, int bound) {
    char text[KEY_MAX];
    snprintf(text, sizeof text, "%p %d ", (const void *)instance, bound);
    case_format(&instance->cases[DATA_FIRST], text + strlen(text), sizeof text - strlen(text));
    const json_t *known = json_object_get(limits->reads, text);
    if (known) return json_real_value(known);
    double read = INFINITY;
    for (int s = instance_timed(instance); s < instance_sets(instance); s++)
        read = fmin(read, least_read(instance, (DataSet)s, bound));
    json_object_set_new(limits->reads, text, json_real(read));
    return read;
}

/* Outputs that the variant gives are written whole, or it would not have passed. */
static double find_written(const Instance *instance, const VariantEntry *entry) {
    double bytes = 0;
    for (int i = 0; i < instance->op->out_count; i++)
        if (registry_gives(entry, instance->given[i].name)) bytes += (double)array_bytes(&instance->given[i]);
    return bytes;
}

/* ---- Questions to the worker. */

static Status start(Teller *teller) {
    const char *const argv[] = {"/proc/self/exe", "worker", NULL};
    return teller->child ? STATUS_OK : child_start(&(ChildOptions){.argv = argv}, &teller->child);
}

/* mode -> {seconds, kernel}, a new reference; NULL if the device cannot tell, with the reason in the teller. */
static json_t *ask(Limits *limits, const Bar *bar, json_t *modes, bool confirm) {
    Teller *teller = &limits->tellers[bar->kind];
    json_t *reply = NULL, *told = NULL;
    if (teller->why_none[0]) return NULL;
    json_t *command =
        json_pack("{s:s, s:s, s:i, s:f, s:f, s:O, s:b}", "do", "limit", "kind", KIND_NAMES[bar->kind], "device", limits->device,
                  "bytes_read", bar->read, "bytes_written", bar->written, "modes", modes, "confirm", confirm);
    Status status = start(teller);
    if (status == STATUS_OK) status = child_ask(teller->child, command, TIMEOUT_SECONDS, &reply);
    json_decref(command);
    if (status == STATUS_OK)
        told = json_incref(json_object_get(reply, "limit"));
    else
        snprintf(teller->why_none, sizeof teller->why_none, "limits of the %s not measured: %s", KIND_NAMES[bar->kind],
                 status_message());
    json_decref(reply);
    return told;
}

/* The limits known for these bytes: the shortest time that was ever measured, a borrowed reference. */
static json_t *known_for(Limits *limits, const Bar *bar) {
    char key[96];
    snprintf(key, sizeof key, "%s %.17g %.17g", KIND_NAMES[bar->kind], bar->read, bar->written);
    json_t *known = json_object_get(limits->known, key);
    if (known) return known;
    json_object_set_new(limits->known, key, json_object());
    return json_object_get(limits->known, key);
}

static double seconds_of(const json_t *modes, const char *mode) {
    const json_t *seconds = json_object_get(json_object_get(modes, mode), "seconds");
    return json_is_number(seconds) ? json_number_value(seconds) : NAN;
}

static void keep_shorter(json_t *known, const json_t *told) {
    const char *mode;
    json_t *limit;
    json_object_foreach((json_t *)told, mode, limit) if (!(seconds_of(told, mode) >= seconds_of(known, mode)))
        json_object_set(known, mode, limit);
}

/* ---- A row. */

/* Modes whose time bytes can limit: loading and compiling are in `first`, and `enqueue` is the host's time alone. */
static bool is_held(const char *mode, const json_t *timed) {
    return strcmp(mode, "first") != 0 && strcmp(mode, "enqueue") != 0 && json_is_number(json_object_get(timed, "median"));
}

static json_t *modes_of(const json_t *row, const json_t *without) {
    json_t *modes = json_array(), *timed;
    const char *mode;
    json_object_foreach(json_object_get(row, "timing"), mode, timed) if (is_held(mode, timed) && !json_object_get(without, mode))
        json_array_append_new(modes, json_string(mode));
    return modes;
}

/* The first mode that is faster than the limits; NULL: none. */
static const char *beaten(const json_t *row, const json_t *limits, const Bar *bar) {
    json_t *timed;
    const char *mode;
    json_object_foreach(json_object_get(row, "timing"), mode, timed) {
        if (!is_held(mode, timed)) continue;
        const size_t calls = (size_t)json_integer_value(json_object_get(timed, "calls_per_sample"));
        const double seconds = json_number_value(json_object_get(timed, "median"));
        if (limit_is_beaten(seconds, seconds_of(limits, mode), bar->kind != 0, calls)) return mode;
    }
    return NULL;
}

/* NULL: there is a limit. */
static const char *why_none(const Limits *limits, const Session *session, const json_t *row, const Bar *bar) {
    if (!json_is_object(json_object_get(row, "timing"))) return "not timed";
    if (session->options->no_ceilings || !limits) return "peaks were not measured";
    return bar && bar->read + bar->written == 0 ? "no bytes to move" : NULL;
}

static void explain(const json_t *row, const json_t *limits, const Bar *bar, const char *mode, char reason[512]) {
    const json_t *timed = json_object_get(json_object_get(row, "timing"), mode);
    snprintf(reason, 512,
             "faster than the hardware: %s %.3g s, but this device needs at least %.3g s to read %.0f and write %.0f bytes (%s); "
             "work is missing from the timed calls, or the clock is wrong",
             mode, json_number_value(json_object_get(timed, "median")), seconds_of(limits, mode), bar->read, bar->written,
             json_string_value(json_object_get(json_object_get(limits, mode), "kernel")));
}

/* Peers run where they say. */
static int kind_of(const VariantEntry *entry) {
    return entry->backend == BACKEND_CUDA || (entry->backend == BACKEND_PEER && entry->needs_gpu) ? 1 : 0;
}

/* The first mode that stays faster however often its limit is measured. *limits gets what was measured for this row alone. */
static const char *confirmed(Limits *limits, const Bar *bar, const json_t *row, json_t *found) {
    const char *mode = beaten(row, found, bar);
    for (int i = 0; i < CONFIRMATIONS && mode; i++) {
        json_t *modes = modes_of(row, NULL), *told;
        if (i > 0) nanosleep(&BETWEEN, NULL);
        told = ask(limits, bar, modes, true);
        json_decref(modes);
        if (!told) return NULL; /* one measurement alone fails no row */
        keep_shorter(found, told);
        json_decref(told);
        mode = beaten(row, found, bar);
    }
    return mode;
}

static void write_limits(json_t *row, const json_t *found, const Bar *bar) {
    json_t *timed;
    const char *mode;
    json_object_foreach(json_object_get(row, "timing"), mode, timed) {
        const json_t *limit = json_object_get(found, mode);
        if (is_held(mode, timed) && isfinite(seconds_of(found, mode)))
            row_limit(timed, seconds_of(found, mode), bar->read, bar->written, json_string_value(json_object_get(limit, "kernel")));
    }
}

bool limits_hold(Limits *limits, const Instance *instance, const Session *session, int bound, json_t *row, char reason[512]) {
    const VariantEntry *entry = session->choice->entry;
    Bar bar = {.kind = kind_of(entry)};
    row_rates(row);
    const char *why = why_none(limits, session, row, NULL), *mode = NULL;
    if (!why) {
        bar.read = find_read(limits, instance, bound), bar.written = find_written(instance, entry);
        why = why_none(limits, session, row, &bar);
    }
    if (!why) {
        json_t *known = known_for(limits, &bar), *modes = modes_of(row, known), *told = NULL;
        if (json_array_size(modes) > 0) told = ask(limits, &bar, modes, false);
        json_decref(modes);
        if (told) keep_shorter(known, told);
        json_decref(told);
        json_t *found = json_copy(known);
        mode = confirmed(limits, &bar, row, found);
        write_limits(row, found, &bar);
        if (mode) explain(row, found, &bar, mode, reason);
        json_decref(found);
        if (limits->tellers[bar.kind].why_none[0]) why = limits->tellers[bar.kind].why_none;
    }
    json_object_set_new(row, "limit_reason", why ? facts_without_folders(why) : json_null());
    return !mode;
}
