#include "pipeline/profile.h"

#include "base/clock.h"
#include "pipeline/counted.h"
#include "pipeline/rows.h"
#include "record/row.h"
#include "record/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Of the row's first mode with times. */
static double call_seconds(const json_t *row) {
    const char *mode;
    json_t *timed;
    json_object_foreach(json_object_get(row, "timing"), mode, timed) {
        const json_t *median = json_object_get(timed, "median");
        if (json_is_number(median)) return json_number_value(median);
    }
    return 0;
}

/* NULL: it is to be counted. */
static const char *why_not(const Session *session, const json_t *row) {
    const Backend backend = session->choice->entry->backend;
    if (backend == BACKEND_CPU) return "runs on the CPU";
    if (backend == BACKEND_PEER) return "a Python library: its launches are not counted";
    if (session->emulated) return "emulated";
    if (session->options->no_counts || session->options->no_ceilings) return "counting was turned off";
    if (!json_is_object(json_object_get(row, "timing"))) return "not timed";
    if (session->item && session->item->uncounted) return "a campaign counts a variant in one case, and no sweeps";
    if (call_seconds(row) > SLOW_SECONDS) return "a call takes more than 1 s";
    return NULL;
}

/* One `count`; what it tells goes into counts, why it tells nothing into reasons. False: the worker is gone. */
static bool ask(Child *child, const char *what, double timeout, json_t *counts, Reasons *reasons) {
    json_t *command = json_pack("{s:s, s:s}", "do", "count", "what", what), *reply = NULL;
    const Status status = child_ask(child, command, timeout, &reply);
    json_decref(command);
    if (status != STATUS_OK) {
        reasons->worst = status;
        because(reasons, status == STATUS_CHECK ? "" : what, status_message());
        return false;
    }
    const char *why = json_string_value(json_object_get(reply, "counts_reason"));
    if (why) because(reasons, what, why);
    if (json_is_object(json_object_get(reply, "counts"))) json_object_update(counts, json_object_get(reply, "counts"));
    json_decref(reply);
    return true;
}

static void write_timeline(const Session *session, const json_t *row, const json_t *told, Reasons *reasons) {
    const json_t *events = json_object_get(told, "events");
    char title[1200];
    if (!json_is_array(events)) return;
    snprintf(title, sizeof title, "%s: %s", json_string_value(json_object_get(row, "spec")),
             json_string_value(json_object_get(row, "case")));
    if (trace_append(session->options->timeline, title, events) != STATUS_OK) because(reasons, "timeline", status_message());
}

/* The timeline first: a profiler of NVTX ranges listens from the process's first NVTX call on. */
static void ask_for_all(const Session *session, Child *child, double timeout, bool counted, const json_t *row, json_t *counts,
                        Reasons *reasons) {
    static const char *const WHAT[] = {"memory", "launches", "bytes"};
    bool alive = true;
    if (session->options->timeline) {
        json_t *told = json_object();
        alive = ask(child, "timeline", timeout, told, reasons);
        write_timeline(session, row, told, reasons);
        json_decref(told);
    }
    for (size_t i = 0; i < sizeof WHAT / sizeof *WHAT && alive && counted; i++)
        alive = ask(child, WHAT[i], timeout, counts, reasons);
}

/* In the worker that counted for the variant's other cases, if it runs. */
static Status open_in(Child **child, Instance *instance, const Session *session, double timeout) {
    json_t *reply = NULL;
    Status status = *child ? STATUS_OK : session_start(session, timeout, child);
    if (status == STATUS_OK) status = session_open(instance, session, *child, timeout, &reply);
    json_decref(reply);
    return status;
}

static void stop(Child **child) {
    child_stop(*child);
    *child = NULL;
}

static void open_and_ask(Instance *instance, const Session *session, Child **child, bool counted, const json_t *row, json_t *counts,
                         Reasons *reasons) {
    const double timeout = CALLS * session->options->timeout_seconds + SECONDS_PER_BYTE * (double)instance_bytes(instance);
    bool reusable = false;
    if (session->options->timeline || !session->options->shared_workers) stop(child);
    const bool fresh = !*child;
    Status status = open_in(child, instance, session, timeout);
    if (status != STATUS_OK && !fresh) { /* whatever another case left there */
        stop(child);
        status = open_in(child, instance, session, timeout);
    }
    if (status == STATUS_OK) child_allow(*child, CUPTI_BYTES);
    if (status == STATUS_OK)
        ask_for_all(session, *child, timeout, counted, row, counts, reasons);
    else
        because(reasons, "", status_message());
    const bool told = status == STATUS_OK && reasons->worst == STATUS_OK;
    if (!told || session_end(*child, timeout, &reusable) != STATUS_OK || !reusable) stop(child);
}

/* Every key of the row format, null where nothing was told. */
static void set_counts(json_t *row, json_t *counts, const Reasons *reasons, double seconds) {
    static const char *const KEYS[] = {"launches",    "copies",     "fills",         "kernel_seconds",
                                       "kernels",     "bytes_read", "bytes_written", "bytes_written_behind",
                                       "allocations", "peak_bytes", "resource",      "registers",
                                       "occupancy"};
    const bool any = json_object_size(counts) > 0;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && any; i++)
        if (!json_object_get(counts, KEYS[i])) json_object_set_new(counts, KEYS[i], json_null());
    if (any) json_object_set_new(counts, "seconds", json_real(seconds));
    json_object_set(row, "counts", any ? counts : json_null());
    json_object_set_new(row, "counts_reason", reasons->used ? facts_without_folders(reasons->text) : json_null());
}

void profile_take(Instance *instance, const Session *session, Counter *counter, json_t *row) {
    const bool out_of_budget = clock_seconds() > session->deadline;
    const char *why = out_of_budget ? "the budget was spent" : why_not(session, row),
               *verdict = json_string_value(json_object_get(row, "verdict"));
    const bool timeline = session->options->timeline && session->choice->entry->backend == BACKEND_CUDA && !session->emulated;
    if (why) json_object_set_new(row, "counts_reason", json_string(why));
    if (!verdict || strcmp(verdict, "pass") != 0 || out_of_budget || (why && !timeline)) return;
    if (!why && !timeline && counted_repeat(counter->known, row)) return;
    const double begin = clock_seconds();
    Reasons reasons = {0};
    json_t *counts = json_object();
    open_and_ask(instance, session, &counter->child, !why, row, counts, &reasons);
    if (why && reasons.used) { /* of the timeline */
        because(&reasons, "counts", why);
        json_object_set_new(row, "counts_reason", facts_without_folders(reasons.text));
    }
    if (reasons.worst == STATUS_CHECK)
        row_verdict(row, "fail", reasons.text);
    else if (!why)
        set_counts(row, counts, &reasons, clock_seconds() - begin);
    if (!reasons.used) counted_remember(counter->known, row);
    json_decref(counts);
}
