#include "cli/python.h"

#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>

Status python_word(PythonWords *self, const char *word) {
    if (self->count + 1 >= self->room) { /* one more for the NULL */
        const int room = 2 * self->room + 16;
        const char **grown = realloc(self->words, (size_t)room * sizeof *grown);
        if (!grown) return status_fail(STATUS_MEMORY, "no memory for a command line of %d words", room);
        self->words = grown, self->room = room;
    }
    self->words[self->count++] = word;
    self->words[self->count] = NULL;
    return STATUS_OK;
}

Status python_option(PythonWords *self, const char *name, const char *value) {
    if (!value) return STATUS_OK;
    TRY(python_word(self, name));
    return python_word(self, value);
}

void python_words_free(PythonWords *self) {
    free(self->words);
    *self = (PythonWords){0};
}

Status python_run(const char *script, const PythonWords *words, Text *output, int *code) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", RUNGS_SOURCE_DIR, script);
    PythonWords argv = {0};
    Status status = python_word(&argv, RUNGS_SOURCE_DIR "/cmake/python");
    if (status == STATUS_OK) status = python_word(&argv, path);
    for (int i = 0; i < words->count && status == STATUS_OK; i++) status = python_word(&argv, words->words[i]);
    if (status == STATUS_OK) status = process_capture(argv.words, NULL, output, code);
    python_words_free(&argv);
    return status;
}
