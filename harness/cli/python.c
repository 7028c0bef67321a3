/* And the verbs that are Python alone: export, plot. */
#include "cli/python.h"

#include "base/places.h"
#include "base/process.h"
#include "base/temporary.h"
#include "cli/commands.h"
#include "cli/files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The harness's packages come first, and none from the folder that the program was called in. */
static Status module_path(Text *path) {
    const char *users = getenv("PYTHONPATH");
    return text_append(path, "PYTHONPATH=%s%s%s", places_harness(""), users && *users ? ":" : "", users ? users : "");
}

/* Python itself ends with 1 if it cannot start, finds no module or meets an error in one: that is not a failed check. */
static int meaning_of(int code) {
    enum { PYTHON_FAILED = 1, CHECK_FAILED = 10 }; /* analysis/output.py */
    return code == PYTHON_FAILED ? EXIT_MACHINE : code == CHECK_FAILED ? EXIT_CHECK : code;
}

/* It came to an end of which its user reads on stdout. */
static bool is_judged(int code) {
    return code == EXIT_GOOD || code == EXIT_CHECK || code == EXIT_NOTHING;
}

static Status run(const char *module, const Words *words, const ProcessLimits *how, Text *output, int *code) {
    const char *own = getenv("RUNGS_PYTHON");
    Text path = {0};
    Words argv = {0};
    TRY(words->status);
    TRY(module_path(&path));
    const char *const start[] = {"env", "PYTHONSAFEPATH=1", path.text, places_python(), "-m", module};
    for (size_t i = 0; i < sizeof start / sizeof *start; i++)
        if (i != 4 || module[0] != '/') words_add(&argv, "%s", start[i]);
    for (int i = 0; i < words->count; i++) words_add(&argv, "%s", words->words[i]);
    Status status = argv.status;
    if (status == STATUS_OK) status = process_capture((const char *const *)argv.words, how, output, code);
    const int meaning = meaning_of(*code);
    if (status == STATUS_OK && !is_judged(meaning) && output->length == 0)
        status = text_append(output, "%s ended with exit code %d and printed nothing\n", own ? own : places_python(), *code);
    if (status == STATUS_OK) *code = meaning;
    words_free(&argv);
    text_free(&path);
    return status;
}

Status python_run(const char *module, const Words *words, Text *output, int *code) {
    return run(module, words, NULL, output, code);
}

Status python_make(const char *module, const Words *words, const char *const *inputs, Text *output, int *code) {
    char variable[40];
    bool complete = false;
    TemporaryFile records;
    TRY(temporary_open(true, &records));
    snprintf(variable, sizeof variable, "RUNGS_OUTPUTS=%d", records.descriptor);
    Status status = run(module, words, &(ProcessLimits){.variable = variable, .own_input = true}, output, code);
    if (status == STATUS_OK && is_judged(*code)) {
        status = files_write(records.descriptor, inputs, &complete);
        if (!complete) *code = EXIT_MACHINE;
    }
    close(records.descriptor);
    return status;
}

int python_verb(const PythonVerb *self, Words *words) {
    Text output = {0};
    int code = 0;
    Status status = files_check(self->options, self->inputs, false);
    if (status == STATUS_OK) status = python_make(self->module, words, self->inputs, &output, &code);
    const bool result = code == EXIT_GOOD || (self->judges && is_judged(code));
    words_free(words);
    if (status == STATUS_OK)
        fprintf(result ? stdout : stderr, "%s%s", result ? "" : self->prefix, output.text ? output.text : result ? "" : "\n");
    text_free(&output);
    if (status != STATUS_OK) return interrupt_pending() ? EXIT_MACHINE : cli_fail(status);
    return is_judged(code) || code == EXIT_USAGE ? code : EXIT_MACHINE;
}

int command_export(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {{"out", "FILE", CLI_FILE, &out, "output file (default: stdout)"}, {0}};
    char **words;
    int count = 0;
    int code = cli_parse("export",
                         "google-benchmark|csv|junit|github-action-benchmark "
                         "RESULTS.jsonl... [options]",
                         OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count < 2) code = cli_usage("export", "expected a format and files of rows");
    if (code != 0) return code;
    Words script = {0};
    for (int i = 0; i < count; i++) words_add(&script, "%s", words[i]);
    words_options(&script, OPTIONS);
    return python_verb(&(PythonVerb){"rungs export: ", "analysis.export", false, OPTIONS, (const char *const *)words + 1}, &script);
}

/* Columns of the terminal; 0: stdout is none. */
static int columns(void) {
    struct winsize size = {0};
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* A sweep from rows, drawn by gnuplot in the terminal or to a file. */
int command_plot(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {{"out", "FILE", CLI_FILE, &out, "write an SVG file (default: text, in the terminal)"}, {0}};
    glob_t committed = {0};
    char **words;
    int count = 0;
    const int code = cli_parse("plot",
                               "[FIGURE] [RESULTS.jsonl...] [options]\nWithout FIGURE: lists the figures that the rows allow. "
                               "Default rows: results/[0-9]*.jsonl",
                               OPTIONS, argc, argv, &words, &count);
    if (code != 0) return code;
    if (count < 2 && files_campaign("plot", &committed) != EXIT_GOOD) return EXIT_USAGE;
    Words script = {0};
    words_add(&script, "%s", count ? words[0] : "");
    char **const files = count < 2 ? committed.gl_pathv : words + 1;
    for (char **file = files; *file; file++) words_add(&script, "%s", *file);
    words_options(&script, OPTIONS);
    words_add(&script, "--columns=%d", columns());
    const int drawn =
        python_verb(&(PythonVerb){"rungs plot: ", "plots.sweep", false, OPTIONS, (const char *const *)files}, &script);
    globfree(&committed);
    return drawn;
}
