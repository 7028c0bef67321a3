#include "cli/python.h"

#include "base/places.h"
#include "base/process.h"
#include "base/temporary.h"
#include "cli/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    const char *const start[] = {"env", "PYTHONSAFEPATH=1", path.text, places_python()};
    for (size_t i = 0; i < sizeof start / sizeof *start; i++) words_add(&argv, start[i]);
    if (module[0] != '/') words_add(&argv, "-m");
    words_add(&argv, module);
    for (int i = 0; i < words->count; i++) words_add(&argv, words->words[i]);
    Status status = argv.status;
    if (status == STATUS_OK) status = process_capture(argv.words, how, output, code);
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
        status = handed_write(records.descriptor, inputs, &complete);
        if (!complete) *code = EXIT_MACHINE;
    }
    close(records.descriptor);
    return status;
}

int python_judge(const char *prefix, const char *module, Words *words, const char *const *inputs) {
    Text output = {0};
    int code = 0;
    const Status status = python_make(module, words, inputs, &output, &code);
    const bool judged = is_judged(code);
    words_free(words);
    if (status == STATUS_OK)
        fprintf(judged ? stdout : stderr, "%s%s", judged ? "" : prefix, output.text ? output.text : judged ? "" : "\n");
    text_free(&output);
    if (status != STATUS_OK) return interrupt_pending() ? EXIT_MACHINE : cli_fail(status);
    return judged || code == EXIT_USAGE ? code : EXIT_MACHINE;
}

int python_verb(const PythonVerb *self, Words *words) {
    Text output = {0};
    int code = 0;
    Status status = handed_check(self->outputs, self->inputs, false);
    if (status == STATUS_OK) status = python_make(self->module, words, self->inputs, &output, &code);
    words_free(words);
    if (status == STATUS_OK && code == EXIT_GOOD) fputs(output.text ? output.text : "\n", stdout);
    if (status == STATUS_OK && code != EXIT_GOOD) fprintf(stderr, "rungs %s: %s", self->verb, output.text ? output.text : "\n");
    text_free(&output);
    if (status != STATUS_OK) return cli_fail(status);
    return code == EXIT_GOOD || code == EXIT_USAGE || code == EXIT_NOTHING ? code : EXIT_MACHINE;
}
