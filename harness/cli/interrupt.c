#include "cli/interrupt.h"

#include "base/places.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 5, TEXT_MAX = 8192 };

/* Made beforehand: a handler may only write. */
static char ending[TEXT_MAX];
static size_t ending_length;
static bool on_terminal;
static const char *place; /* where what it names is; nothing is printed as long as it is not there. NULL: it is */

static bool has_place(void) {
    return !place || access(place, F_OK) == 0;
}

static void on_signal(int number) {
    if (!interrupt_pending()) {
        interrupt_note(number);
        alarm(PATIENCE_SECONDS);
        return;
    }
    if (has_place()) {
        ssize_t ignored = on_terminal ? write(STDERR_FILENO, "\n", 1) : 0; /* below the progress line */
        ignored = write(STDERR_FILENO, ending, ending_length);
        (void)ignored;
    }
    _exit(128 + interrupt_pending());
}

/* The program as a user types it: the script ./rungs, if it would start this build; else the path of this program. */
static Status append_program(Text *text) {
    char self[700], here[700];
    const char *const script = places_project("rungs");
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    const bool by_script = strcmp(self, places_project("build/release/bin/rungs")) == 0 && access(script, X_OK) == 0;
    if (!by_script) return quote_word(text, self);
    const bool inside = getcwd(here, sizeof here) && strcmp(here, places_project("")) == 0;
    return quote_word(text, inside ? "./rungs" : script);
}

static Status append_command(Text *text, char **argv, const char *rows, bool add_out) {
    bool resumes = false;
    TRY(append_program(text));
    for (; *argv; argv++) {
        resumes = resumes || strcmp(*argv, "--resume") == 0;
        TRY(text_append(text, " "));
        TRY(quote_word(text, *argv));
    }
    if (!resumes) TRY(text_append(text, " --resume"));
    if (!add_out) return STATUS_OK;
    TRY(text_append(text, " --out "));
    return quote_word(text, rows);
}

static Status catch_with(Text *text) {
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
    on_terminal = terminal_live(STDERR_FILENO);
    ending_length = text->length < sizeof ending ? text->length : sizeof ending;
    memcpy(ending, text->text, ending_length);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
        struct sigaction old, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigfillset(&action.sa_mask);
        if (sigaction(SIGNALS[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue; /* nohup, or a shell's background */
        sigaction(SIGNALS[i], &action, NULL);
    }
    return STATUS_OK;
}

Status interrupt_catch(char **argv, const char *rows, bool add_out) {
    Text text = {0};
    Status status = text_append(&text, "rungs: interrupted; rows are in %s\nrungs: continue with: ", rows);
    if (status == STATUS_OK) status = append_command(&text, argv, rows, add_out);
    if (status == STATUS_OK) status = text_append(&text, "\n");
    if (status == STATUS_OK) status = catch_with(&text);
    text_free(&text);
    return status;
}

Status interrupt_catch_ab(const char *verb, const char *folder) {
    Text text = {0};
    place = folder;
    Status status = text_append(&text, "rungs %s: interrupted; rows of the processes that ended are in %s%s\n", verb, folder,
                                strcmp(verb, "ab") == 0 ? "; the same --out adds to them" : "");
    if (status == STATUS_OK) status = catch_with(&text);
    text_free(&text);
    return status;
}

int interrupt_end_ab(void) {
    if (!interrupt_pending()) return 0;
    alarm(0);
    if (has_place()) fprintf(stderr, "%s%.*s", on_terminal ? "\n" : "", (int)ending_length, ending);
    return 128 + interrupt_pending();
}

int interrupt_end(Progress *progress, const RunSummary *summary) {
    const size_t rows = summary->passed + summary->failed + summary->errors + summary->skipped;
    alarm(0);
    progress_wipe(progress);
    fprintf(stderr, "rungs: %zu rows of this run were written\n%.*s", rows, (int)ending_length, ending);
    return 128 + interrupt_pending();
}

int run_finish(Status status, Progress *progress, const RunSummary *summary, const char *out, const char *go_on) {
    if (interrupt_pending() && !summary->rows_moved) return interrupt_end(progress, summary);
    if (status != STATUS_OK) return cli_fail(status);
    progress_summary(progress, summary, out, go_on);
    if (summary->failed + summary->errors > 0) return EXIT_CHECK;
    if (summary->passed + summary->resumed == 0) return EXIT_NOTHING;
    return EXIT_GOOD;
}
