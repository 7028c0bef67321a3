#include "cli/progress.h"

#include "base/foreign.h"
#include "base/jsontext.h"
#include "base/mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_live(int descriptor) {
    const char *term = getenv("TERM");
    return isatty(descriptor) && !(term && strcmp(term, "dumb") == 0);
}

bool terminal_colour(int descriptor) {
    const char *refused = getenv("NO_COLOR");
    return terminal_live(descriptor) && !(refused && *refused);
}

/* Columns, asked anew each time, as a window may be resized; 80 where the terminal does not say. */
static int terminal_width(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Progress progress_make(void) {
    return (Progress){.terminal = terminal_live(STDERR_FILENO), .colour = terminal_colour(STDERR_FILENO)};
}

void progress_duration(double seconds, char text[32]) {
    const long whole = (long)(seconds + 0.5);
    if (whole < 60)
        snprintf(text, 32, "%lds", whole);
    else if (whole < 3600)
        snprintf(text, 32, "%ldm%02lds", whole / 60, whole % 60);
    else
        snprintf(text, 32, "%ldh%02ldm", whole / 3600, whole / 60 % 60);
}

/* Names the outputs that the row passes without: "; not judgeable: skewness". */
static void add_unjudged(const Row *row, char text[400]) {
    const char *before = "; not judgeable: ";
    for (int i = 0; i < row->error_count; i++) {
        const OutputErrors *errors = &row->errors[i];
        if (errors->exact || errors->bounded.judgeable) continue;
        const size_t used = strlen(text);
        snprintf(text + used, 400 - used, "%s%s", before, foreign_shown(errors->output));
        before = ", ";
    }
}

/* "cold 27.1 ms" or why there is no time. */
static void outcome(const Row *row, char text[400]) {
    static const Mode ORDER[] = {MODE_COLD, MODE_HOT, MODE_GRAPH, MODE_COMPLETE, MODE_ENQUEUE, MODE_FIRST};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER && row->timed; i++) {
        const ModeTiming *timing = &row->timing[ORDER[i]];
        char human[32];
        if (timing->count == 0) continue;
        table_seconds(timing->stats.median, human);
        snprintf(text, 400, "%s %s%s", mode_name(ORDER[i]), human, row->reason ? ", throttled" : "");
        return;
    }
    if (row->verdict == VERDICT_PASS) {
        const char *why = row->why_not_timed ? row->why_not_timed : "";
        snprintf(text, 400, "%s",
                 strcmp(why, "emulated") == 0 ? "verified (emulated), not timed"
                 : *why                       ? foreign_shown(why)
                                              : "verified"); /* of a first call a worker has one */
    } else {
        snprintf(text, 400, "%.380s", foreign_shown(row->reason ? row->reason : ""));
    }
}

static const char *colour_of(const Progress *progress, Verdict verdict) {
    static const char *const COLOURS[] = {
        [VERDICT_FAIL] = "\033[31m", [VERDICT_PASS] = "\033[32m", [VERDICT_SKIP] = "\033[33m", [VERDICT_ERROR] = "\033[31m"};
    return progress->colour ? COLOURS[verdict] : "";
}

static const char *outcome_words(const json_t *claim) {
    const int outcome = claim_outcome(claim);
    if (strcmp(text_of(claim, "rule"), "shown") == 0 && json_is_number(json_object_get(claim, "here")))
        return outcome == CLAIM_FAILS ? "shown, worse here" : "shown";
    return CLAIM_OUTCOME_WORDS[outcome];
}

void progress_claim(FILE *stream, const json_t *claim) {
    const long long processes = json_integer_value(json_object_get(claim, "processes"));
    fprintf(stream, "claim %-40s %-16s %s%s: %s", foreign_shown(text_of(claim, "id")), foreign_shown(text_of(claim, "program")),
            foreign_shown(outcome_words(claim)), strcmp(text_of(claim, "claim_kind"), "finding") == 0 ? " (finding)" : "",
            foreign_shown(text_of(claim, "why")));
    if (json_is_true(json_object_get(claim, "provisional")))
        fprintf(stream, "; provisional: %lld process%s", processes, processes == 1 ? "" : "es");
    fputc('\n', stream);
}

void progress_claims(FILE *stream, const ClaimTotals *totals) {
    size_t all = 0;
    for (int i = 0; i < CLAIM_OUTCOME_COUNT; i++) all += totals->outcomes[i];
    if (all + totals->shown + totals->findings + totals->ours == 0) return;
    fprintf(stream, "published statements, tested by originals, reimplementations and successors:");
    for (int i = 0; i < CLAIM_OUTCOME_COUNT; i++)
        fprintf(stream, "%s %s: %zu", i ? ";" : "", CLAIM_OUTCOME_WORDS[i], totals->outcomes[i]);
    fprintf(stream,
            "\nnot in these totals: %zu on other hardware (only shown; %zu worse here); %zu findings; %zu of our own programs\n",
            totals->shown, totals->shown_worse, totals->findings, totals->ours);
}

/* Where to cut a text so that it takes at most so many columns: of UTF-8, a byte that goes on takes none. */
static int fitting_bytes(const char *text, int columns) {
    int used = 0;
    const char *at = text;
    for (; *at; at++) {
        const bool begins = ((unsigned char)*at & 0xc0) != 0x80;
        if (begins && used == columns) break;
        used += begins;
    }
    return (int)(at - text);
}

/* With blanks where escape sequences are not wanted. */
void progress_wipe(Progress *progress) {
    if (progress->shown == 0) return;
    if (progress->colour)
        fprintf(stderr, "\r\033[K");
    else
        fprintf(stderr, "\r%*s\r", progress->shown, "");
    progress->shown = 0;
    fflush(stderr);
}

/* Never wider than the terminal, for else it could not be wiped. */
static void show(Progress *progress, const char *line) {
    progress_wipe(progress);
    const int columns = terminal_width(STDERR_FILENO) - 1, bytes = fitting_bytes(line, columns);
    fprintf(stderr, "%.*s", bytes, line);
    fflush(stderr);
    progress->shown = bytes; /* at least its columns */
    if (progress->shown > columns) progress->shown = columns;
}

static void begin(void *context, const RunEvent *event) {
    Progress *progress = context;
    char line[400], eta[32], left[64] = "", failed[48] = "";
    if (!progress->terminal) return;
    if (event->peaks) {
        snprintf(line, sizeof line, "measuring peaks: %s", event->peaks);
    } else {
        progress_duration(event->eta_seconds, eta);
        if (event->eta_seconds > 0) snprintf(left, sizeof left, ", about %s left", eta);
        if (event->failures > 0) snprintf(failed, sizeof failed, ", %zu failed", event->failures);
        snprintf(line, sizeof line, "case %zu of %zu%s%s: %s", event->index, event->total, failed, left,
                 foreign_shown(event->row->spec));
    }
    show(progress, line);
}

/* The case above its rows, cut where it does not fit a terminal. */
static void print_heading(Progress *progress, const char *place) {
    snprintf(progress->heading, sizeof progress->heading, "%s", place);
    fprintf(stderr, "%.*s\n", progress->terminal ? fitting_bytes(place, terminal_width(STDERR_FILENO)) : (int)strlen(place), place);
}

/* " | n=1009 dtype=f32": what the case above does not have, in so many columns. A case that takes more of them gets a heading of
 * its own, and "". */
static void add_difference(Progress *progress, const char *place, int columns, char out[CASE_TEXT_MAX]) {
    const char *word = place;
    out[0] = '\0';
    for (size_t length; (length = strcspn(word, " ")) > 0; word += length, word += strspn(word, " ")) {
        const size_t used = strlen(out);
        if (!table_has_word(progress->heading, word, length))
            snprintf(out + used, CASE_TEXT_MAX - used, "%s%.*s", used ? " " : " | ", (int)length, word);
    }
    const bool same_op = strncmp(progress->heading, place, strcspn(place, " ") + 1) == 0;
    if (same_op && out[fitting_bytes(out, columns > 0 ? columns : 0)] == '\0') return;
    print_heading(progress, place);
    out[0] = '\0';
}

/* One line. On a terminal it does not wrap: of the case it has what the heading does not say. Failures and errors are printed in
 * full. */
static void print_row(Progress *progress, const RunEvent *event) {
    enum { SPEC_COLUMNS = 44 };
    const Verdict verdict = event->row->verdict;
    const char *place = foreign_shown(event->row->text);
    const bool narrow = progress->terminal && verdict == VERDICT_PASS;
    char what[400], line[3000], where[CASE_TEXT_MAX + 4] = "";
    outcome(event->row, what);
    if (verdict == VERDICT_PASS) add_unjudged(event->row, what);
    if (event->row->bits.differ) strncat(what, "; its bits differ from call to call", sizeof what - strlen(what) - 1);
    if (row_on_one_input(event->row)) strncat(what, "; timed on one input", sizeof what - strlen(what) - 1);
    const char *spec = foreign_shown(event->row->spec);
    const int before = snprintf(NULL, 0, "%4zu/%zu %-5s ", event->index, event->total, verdict_name(verdict)),
              columns = terminal_width(STDERR_FILENO) - before, left = columns - 1 - (int)strlen(what);
    if (progress->one_case && !progress->heading[0])
        print_heading(progress, place);
    else if (narrow && !progress->one_case)
        add_difference(progress, place, left - (int)strlen(spec), where);
    else if (!progress->one_case)
        snprintf(where, sizeof where, " | %s", place);
    const int room = narrow ? left - (int)strlen(where) : SPEC_COLUMNS;
    snprintf(line, sizeof line, "%-*s %s%s", room < 0 ? 0 : room < SPEC_COLUMNS ? room : SPEC_COLUMNS, spec, what, where);
    if (narrow) line[fitting_bytes(line, columns > 0 ? columns : 0)] = '\0';
    fprintf(stderr, "%4zu/%zu %s%-5s%s %s\n", event->index, event->total, colour_of(progress, verdict), verdict_name(verdict),
            progress->colour ? "\033[0m" : "", line);
    if (event->row->draw[0])
        fprintf(stderr, "          again: rungs run '%s' --variants '%s' --draw %s\n", place, foreign_shown(event->row->spec),
                event->row->draw);
}

static bool is_bad(const Row *row) {
    return row->verdict == VERDICT_FAIL || row->verdict == VERDICT_ERROR;
}

/* A row or a claim, as it stands in the file. */
static void print_json(const RunEvent *event) {
    json_t *line = event->claim  ? json_incref((json_t *)(uintptr_t)event->claim)
                   : event->line ? json_incref((json_t *)(uintptr_t)event->line)
                                 : row_json(event->row);
    if (line && json_dumpf(line, stdout, JSON_COMPACT) == 0) putchar('\n');
    fflush(stdout);
    json_decref(line);
}

static void report(void *context, const RunEvent *event) {
    Progress *progress = context;
    progress_wipe(progress);
    if (progress->json) print_json(event);
    if (progress->table && event->row) table_add(progress->table, event->row);
    if (event->claim && progress->claims)
        json_array_append(progress->claims, (json_t *)(uintptr_t)event->claim);
    else if (event->claim)
        progress_claim(stderr, event->claim);
    else if (event->refused && !progress->verbose)
        progress->refused++;
    else if (!progress->brief || progress->verbose || is_bad(event->row))
        print_row(progress, event);
}

void progress_notice(void *context, const char *text) {
    progress_wipe(context);
    fprintf(stderr, "rungs: %s\n", text);
}

void progress_attach(Progress *progress, RunOptions *options) {
    options->begin = begin, options->report = report, options->notice = progress_notice, options->context = progress;
}

static const char *plural(size_t count) {
    return count == 1 ? "" : "s";
}

void progress_summary(const Progress *progress, const RunSummary *s, const char *out, const char *go_on) {
    FILE *const to = progress->json ? stderr : stdout;
    const size_t rows = s->passed + s->failed + s->errors + s->skipped;
    if (progress->table && !progress->json) table_print(progress->table);
    fprintf(to, "%zu row%s: %zu passed, %zu failed, %zu error%s, %zu skipped; %zu timed\n", rows, plural(rows), s->passed,
            s->failed, s->errors, plural(s->errors), s->skipped, s->timed);
    if (progress->refused > 0)
        fprintf(to, "%zu of them %s not apply here; --verbose lists %s with the reason\n", progress->refused,
                progress->refused == 1 ? "does" : "do", progress->refused == 1 ? "it" : "them");
    if (s->emulated > 0) fprintf(to, "CUDA rows verified in the emulator and not timed: %zu\n", s->emulated);
    if (!s->has_gpu) fprintf(to, "no GPU was used: %s\n", s->no_gpu_reason);
    if (s->repeated > 0)
        fprintf(to, "%zu emulated row%s left out: at the emulator's smaller size that case has run\n", s->repeated,
                plural(s->repeated));
    if (s->resumed > 0) fprintf(to, "%zu row%s already present (--resume)\n", s->resumed, plural(s->resumed));
    if (s->left_by_budget > 0)
        fprintf(to, "%zu row%s did not fit the budget; to continue, repeat the command with %s\n", s->left_by_budget,
                plural(s->left_by_budget), go_on);
    progress_claims(to, &s->claims);
    fprintf(to, "rows: %s\n", out);
}
