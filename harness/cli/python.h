/* python.h - the one way in which the program calls its Python: scripts that read rows, such as plots/report.py. */
#ifndef RUNGS_CLI_PYTHON_H
#define RUNGS_CLI_PYTHON_H

#include "base/status.h"
#include "base/text.h"

/* The words of a call, NULL-terminated; zero-initialise. They are borrowed. */
typedef struct PythonWords {
    const char **words;
    int count, room;
} PythonWords;

Status python_word(PythonWords *words, const char *word);
/* "--name value", or nothing where value is NULL. */
Status python_option(PythonWords *words, const char *name, const char *value);
void python_words_free(PythonWords *words);
/* Runs a script of this checkout ("plots/report.py"). What it prints is appended to *output, *code is its exit code. */
Status python_run(const char *script, const PythonWords *words, Text *output, int *code);

#endif
