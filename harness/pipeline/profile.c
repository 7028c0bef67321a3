#include "pipeline/profile.h"

#include "base/clock.h"
#include "protocol.h"
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
static double call_seconds(const Row *row) {
    for (int m = 0; m < MODE_COUNT; m++)
        if (row->timing[m].count > 0) return row->timing[m].stats.median;
    return 0;
}

/* NULL: it is to be counted. */
static const char *why_not(const Session *session, const Row *row) {
    const Backend backend = session->choice->entry->backend;
    if (backend == BACKEND_CPU) return "runs on the CPU";
    if (backend == BACKEND_PEER) return "a Python library: its launches are not counted";
    if (session->emulated) return "emulated";
    if (session->options->no_counts || session->options->no_ceilings) return "counting was turned off";
    if (!row->timed) return "not timed";
    if (session->item && session->item->uncounted) return "a campaign counts a variant in one case, and no sweeps";
    if (call_seconds(row) > SLOW_SECONDS) return "a call takes more than 1 s";
    return NULL;
}

/* One `count`. row: its counts get what is counted; why nothing is goes into reasons. False: the worker is gone. */
static bool ask(const Session *session, Child *child, const char *what, double timeout, Row *row, Reasons *reasons) {
    json_t *command = json_pack("{s:s, s:s}", KEY_DO, DO_COUNT, KEY_WHAT, what), *reply = NULL;
    const Status status = child_ask(child, command, timeout, &reply);
    char title[2 * CASE_TEXT_MAX + 2];
    json_decref(command);
    if (status != STATUS_OK) {
        reasons->worst = status;
        because(reasons, status == STATUS_CHECK ? "" : what, status_message());
        return false;
    }
    const char *why = reply_counts(reply, &row->counts);
    if (why) because(reasons, what, why);
    snprintf(title, sizeof title, "%s: %s", row->spec, row->text);
    if (reply_events(reply) && trace_append(session->options->timeline, title, reply_events(reply)) != STATUS_OK)
        because(reasons, WHAT_TIMELINE, status_message());
    json_decref(reply);
    return true;
}

/* The timeline first: a profiler of NVTX ranges listens from the process's first NVTX call on. */
static void ask_for_all(const Session *session, Child *child, double timeout, bool counted, Row *row, Reasons *reasons) {
    static const char *const WHAT[] = {WHAT_MEMORY, WHAT_LAUNCHES, WHAT_BYTES};
    bool alive = !session->options->timeline || ask(session, child, WHAT_TIMELINE, timeout, row, reasons);
    for (size_t i = 0; i < sizeof WHAT / sizeof *WHAT && alive && counted; i++)
        alive = ask(session, child, WHAT[i], timeout, row, reasons);
}

/* In the worker that counted for the variant's other cases, if it runs. */
static Status open_in(Child **child, Instance *instance, const Session *session, double timeout) {
    TRY(*child ? STATUS_OK : session_start(session, timeout, child));
    return session_open(instance, session, *child, timeout, NULL);
}

static void stop(Child **child) {
    child_stop(*child);
    *child = NULL;
}

static void open_and_ask(Instance *instance, const Session *session, Child **child, bool counted, Row *row, Reasons *reasons) {
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
        ask_for_all(session, *child, timeout, counted, row, reasons);
    else
        because(reasons, "", status_message());
    const bool replied = status == STATUS_OK && reasons->worst == STATUS_OK;
    if (!replied || session_end(*child, timeout, &reusable) != STATUS_OK || !reusable) stop(child);
}

void profile_take(Instance *instance, const Session *session, Counter *counter, Row *row) {
    const bool out_of_budget = clock_seconds() > session->deadline;
    const char *why = out_of_budget ? "the budget was spent" : why_not(session, row);
    const bool timeline = session->options->timeline && session->choice->entry->backend == BACKEND_CUDA && !session->emulated;
    if (why) row_set_text(&row->counts_reason, why);
    if (row->verdict != VERDICT_PASS || out_of_budget || (why && !timeline)) return;
    if (!why && !timeline && resume_counts(counter->known, row)) return;
    const double begin = clock_seconds();
    Reasons reasons = {0};
    open_and_ask(instance, session, &counter->child, !why, row, &reasons);
    row->counts.seconds = clock_seconds() - begin;
    if (why && reasons.used) because(&reasons, "counts", why); /* of the timeline */
    if (reasons.worst == STATUS_CHECK) {
        counts_free(&row->counts);
        row_decide(row, VERDICT_FAIL, reasons.text);
    }
    if (why ? reasons.used : reasons.worst != STATUS_CHECK) row_set_text(&row->counts_reason, reasons.used ? reasons.text : NULL);
    if (!reasons.used) resume_counted(counter->known, row);
}
