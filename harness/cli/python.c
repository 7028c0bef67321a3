#include "cli/python.h"

#include "base/process.h"

#include <stdio.h>

Status python_run(const char *script, const Words *words, Text *output, int *code) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", RUNGS_SOURCE_DIR, script);
    Words argv = {0};
    Status status = words_add(&argv, RUNGS_SOURCE_DIR "/cmake/python");
    if (status == STATUS_OK) status = words_add(&argv, path);
    for (int i = 0; i < words->count && status == STATUS_OK; i++) status = words_add(&argv, words->words[i]);
    if (status == STATUS_OK) status = process_capture(argv.words, NULL, output, code);
    words_free(&argv);
    return status;
}
