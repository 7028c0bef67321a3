#include "cli/python.h"

#include "base/places.h"
#include "base/process.h"
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>

/* The harness's packages come first, and none from the folder that the program was called in. */
static Status module_path(Text *path) {
    const char *users = getenv("PYTHONPATH");
    return text_append(path, "PYTHONPATH=%s%s%s", places_harness(""), users && *users ? ":" : "", users ? users : "");
}

Status python_run(const char *module, const Words *words, Text *output, int *code) {
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
    if (status == STATUS_OK) status = process_capture(argv.words, NULL, output, code);
    words_free(&argv);
    text_free(&path);
    return status;
}

int python_verb(const char *verb, const char *module, Words *words) {
    Text output = {0};
    int code = 0;
    const Status status = python_run(module, words, &output, &code);
    words_free(words);
    if (status != STATUS_OK) return cli_fail(status);
    const char *text = output.text ? output.text : "\n";
    if (code == EXIT_GOOD)
        fputs(text, stdout);
    else
        fprintf(stderr, "rungs %s: %s", verb, text);
    text_free(&output);
    return code == EXIT_GOOD || code == EXIT_USAGE || code == EXIT_NOTHING ? code : EXIT_MACHINE;
}
