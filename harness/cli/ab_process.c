#include "cli/ab_process.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/places.h"
#include "base/process.h"
#include "base/temporary.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/words.h"
#include "pipeline/foresee.h"
#include "plan/scenario.h"
#include "record/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_TEXT = 1024 };

typedef struct List {
    char **words;
    int count;
} List;

static Status append(List *list, const char *word) {
    char **grown = realloc(list->words, ((size_t)list->count + 2) * sizeof *grown);
    if (!grown) return status_fail(STATUS_MEMORY, "no memory for the names of scenarios");
    list->words = grown;
    grown[list->count + 1] = NULL;
    grown[list->count] = strdup(word);
    return grown[list->count++] ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for the names of scenarios");
}

static Status append_folder(List *list, const char *path) {
    char **files = NULL;
    int count = 0;
    TRY(scenario_files(path, &files, &count));
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) status = append(list, files[i]);
    scenario_files_free(files, count);
    return status;
}

/* The files of a scenario or a folder of scenarios below `scenarios`; *found: there are some. */
static Status append_named(List *list, const char *scenarios, const char *word, bool *found) {
    char file[PATH_TEXT], folder[PATH_TEXT];
    struct stat info;
    *found = !strpbrk(word, " =") && snprintf(file, sizeof file, "%s/%s.yaml", scenarios, word) < PATH_TEXT &&
             snprintf(folder, sizeof folder, "%s/%s", scenarios, word) < PATH_TEXT;
    if (*found && access(file, R_OK) == 0) return append(list, file);
    *found = *found && *word && stat(folder, &info) == 0 && S_ISDIR(info.st_mode);
    return *found ? append_folder(list, folder) : STATUS_OK;
}

static Status append_word(List *list, const char *word) {
    bool found = false;
    TRY(append_named(list, places_project("scenarios"), word, &found));
    return found ? STATUS_OK : append(list, word);
}

/* The file at the same place in another checkout, if the word names one of this checkout and it is there, too. */
static Status append_path(List *list, const char *root, const char *word) {
    char real[PATH_MAX], there[PATH_MAX];
    const char *const own = places_project("");
    const size_t length = strlen(own);
    if (!realpath(word, real) || strncmp(real, own, length) != 0 || real[length] != '/') return STATUS_OK;
    const bool fits = snprintf(there, sizeof there, "%s%s", root, real + length) < PATH_MAX;
    return fits && access(there, R_OK) == 0 ? append(list, there) : STATUS_OK;
}

Status ab_process_words_of(const char *root, char *const *words, int count, char ***out) {
    List list = {0};
    char scenarios[PATH_TEXT];
    Status status = STATUS_OK;
    *out = NULL;
    if (snprintf(scenarios, sizeof scenarios, "%s/scenarios", root) >= PATH_TEXT) return STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        bool found = false;
        status = append_named(&list, scenarios, words[i], &found);
        if (status == STATUS_OK && !found) status = append_path(&list, root, words[i]);
    }
    if (status == STATUS_OK)
        *out = list.words;
    else
        ab_process_words_free(list.words);
    return status;
}

Status ab_process_words(const char *command, char *const *words, int count, char ***out) {
    List list = {0};
    TRY(cases_check(command, words, count));
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) status = append_word(&list, words[i]);
    if (status == STATUS_OK && list.count == 0) status = status_fail(STATUS_INVALID, "no scenario matches");
    if (status == STATUS_OK)
        *out = list.words;
    else
        ab_process_words_free(list.words);
    return status;
}

void ab_process_words_free(char **words) {
    for (int i = 0; words && words[i]; i++) free(words[i]);
    free(words);
}

/* Stamps put a new file in the place of the old one: the same descriptor then holds that. Its offset is the length. */
static void hold_rows(const AbProcess *self) {
    struct stat info;
    const int rows = stat(self->out, &info) == 0 && S_ISREG(info.st_mode) ? open(self->out, O_RDONLY | O_CLOEXEC) : -1;
    if (rows < 0) return;
    if (dup2(rows, self->rows) >= 0 && fcntl(self->rows, F_SETFD, FD_CLOEXEC) == 0) lseek(self->rows, 0, SEEK_END);
    close(rows);
}

/* Before a process makes a new file under the name of one that somebody moved or removed. */
static Status check_rows(const AbProcess *self) {
    struct stat info;
    const bool held = fstat(self->rows, &info) == 0 && S_ISREG(info.st_mode);
    return held ? rescue_check(self->out, self->rows, lseek(self->rows, 0, SEEK_CUR)) : STATUS_OK;
}

Status ab_process_prepare(AbProcess *self) {
    self->rows = open("/dev/null", O_RDONLY | O_CLOEXEC); /* until there is a file */
    hold_rows(self);
    const char *const argv[] = {self->binary, "run", "--help", NULL};
    Text output = {0};
    int code = 0;
    Status status = process_capture(argv, NULL, &output, &code);
    if (status == STATUS_OK && code != 0)
        status = status_fail(STATUS_INVALID, "%s: '%s run --help' failed with exit code %d; is it a rungs program?", self->what,
                             self->binary, code);
    if (status == STATUS_OK && !(output.text && strstr(output.text, "--out"))) /* such as /bin/true */
        status = status_fail(STATUS_INVALID, "%s: '%s run --help' does not list --out; is it a rungs program?", self->what,
                             self->binary);
    self->knows_no_ceilings = output.text && strstr(output.text, "--no-ceilings"); /* a build of an older commit may not */
    self->skip_unknown = self->skip_unknown && output.text && strstr(output.text, "--skip-unknown");
    self->is_rungs = output.text && strstr(output.text, "usage: rungs run ");
    text_free(&output);
    return status;
}

int ab_process_foresee(const char *verb, char *const *words, int count, const AbProcessOptions *options) {
    Plan plan = {0};
    long long device = 0;
    if (options->device && !text_integer(options->device, &device)) return EXIT_GOOD; /* for `run` to refuse */
    Status status = cases_plan(&plan, verb, words, count);
    if (status == STATUS_OK && options->variants) status = plan_filter(&plan, options->variants);
    const Foresight f = foresee(&plan, (int)device);
    plan_free(&plan);
    if (status != STATUS_OK) return EXIT_GOOD;
    if (f.timed > 0 && f.need_gpu > 0)
        fprintf(stderr, "rungs %s: %zu of %zu rows need a GPU and will have no times: %s\n", verb, f.need_gpu, f.total,
                f.no_gpu_reason);
    if (f.timed > 0) return EXIT_GOOD;
    if (f.need_gpu > 0)
        fprintf(stderr, "rungs %s: nothing would be timed: %zu of %zu rows need a GPU%s: %s\n", verb, f.need_gpu, f.total,
                f.need_gpu < f.total ? ", and the others do not apply here" : "", f.no_gpu_reason);
    else
        fprintf(stderr, "rungs %s: nothing would be timed: none of %zu rows applies here\n", verb, f.total);
    return EXIT_NOTHING;
}

static void add_words(const AbProcess *self, Words *argv) {
    const AbProcessOptions *o = self->options;
    words_add(argv, self->binary);
    words_add(argv, "run");
    for (int i = 0; self->words[i]; i++) words_add(argv, self->words[i]);
    words_option(argv, "--out", self->out);
    words_option(argv, "--variants", o->variants);
    words_option(argv, "--device", o->device);
    words_option(argv, "--timeout", o->timeout);
    words_option(argv, "--memory-limit", o->memory_limit);
    words_option(argv, "--budget", self->budget);
    if (o->quick) words_add(argv, "--quick");
    if (o->full) words_add(argv, "--full");
    if (self->skip_unknown) words_add(argv, "--skip-unknown");
    if (self->knows_no_ceilings) words_add(argv, "--no-ceilings");
}

const char *ab_process_time_left(double began, int done, int total, char text[32]) {
    const double seconds = done > 0 ? (clock_seconds() - began) / done * (total - done) : 0;
    text[0] = '\0';
    if (seconds >= 90)
        snprintf(text, 32, ", about %.0f min left", seconds / 60);
    else if (seconds > 0)
        snprintf(text, 32, ", about %.0f s left", ceil(seconds));
    return text;
}

static Status run(const AbProcess *self, const Stamp *stamp, Text *output) {
    struct stat before = {0};
    const bool there = stat(self->out, &before) == 0;
    Words argv = {0};
    int code = 0;
    add_words(self, &argv);
    Status status = argv.status;
    if (status == STATUS_OK) status = process_capture(argv.words, NULL, output, &code);
    words_free(&argv);
    if (interrupt_pending() && (there ? truncate(self->out, before.st_size) : unlink(self->out)) != 0 && errno != ENOENT)
        fprintf(stderr, "rungs: %s: rows of the interrupted process cannot be removed: %s\n", self->out, strerror(errno));
    if (status == STATUS_OK) status = interrupt_check();
    if (status == STATUS_OK && code != EXIT_GOOD && code != EXIT_CHECK && code != EXIT_NOTHING)
        status = status_fail(code == EXIT_USAGE ? STATUS_INVALID : STATUS_IO, "%s: %s ends with exit code %d: %.1000s", self->what,
                             self->binary, code, output->text ? output->text : "");
    if (status == STATUS_OK && stamp && (there || access(self->out, F_OK) == 0))
        status = stamp_lines(self->out, there ? before.st_size : 0, stamp);
    return status;
}

Status ab_process_run(const AbProcess *self, const Stamp *stamp) {
    Text output = {0};
    TRY(check_rows(self));
    const Status status = run(self, stamp, &output);
    if (status == STATUS_OK) hold_rows(self);
    text_free(&output);
    return status;
}

/* Of the last run in a file of rows, cut to what people read; "" if there is none or it does not say. */
static void last_commit(const char *path, char commit[13]) {
    struct stat info;
    commit[0] = '\0';
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "r") : NULL; /* devices may have no end */
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0) {
        if (!strstr(line, "\"environment\"")) continue; /* rows are long, and of no interest */
        json_t *parsed = json_loads(line, 0, NULL);
        const char *kind = json_string_value(json_object_get(parsed, "kind"));
        const char *found = json_string_value(json_object_get(parsed, "commit"));
        if (kind && strcmp(kind, "environment") == 0) snprintf(commit, 13, "%.12s", found ? found : "");
        json_decref(parsed);
    }
    free(line);
    if (file) fclose(file);
}

/* Runs it without starting a row, into a file of its own; commit: gets that of its environment line. */
static Status run_no_row(AbProcess *self, Text *output, char commit[13]) {
    TemporaryFile rows;
    const double began = clock_seconds();
    TRY(temporary_open(true, &rows));
    AbProcess once = *self;
    once.out = rows.path, once.budget = "0.000001";
    const Status status = run(&once, NULL, output);
    self->start_seconds = clock_seconds() - began;
    last_commit(rows.path, commit);
    close(rows.descriptor);
    return status;
}

Status ab_process_start(AbProcess *self) {
    char commit[13];
    Text ignored = {0};
    const Status status = self->start_seconds > 0 ? STATUS_OK : run_no_row(self, &ignored, commit);
    text_free(&ignored);
    return status;
}

Status ab_process_check(AbProcess *self, Text *left_out) {
    char there[13], own[13];
    last_commit(self->out, there);
    if (!*there && !self->skip_unknown) return STATUS_OK;
    TRY(run_no_row(self, left_out, own));
    if (!*there || !*own || strcmp(own, there) == 0) return STATUS_OK;
    return status_fail(STATUS_INVALID, "%s holds rows of %s, but %s is %s; name another folder or remove this one", self->out,
                       there, self->what, own);
}
