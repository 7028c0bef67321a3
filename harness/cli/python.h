/* python.h - the one way in which the program calls its Python: modules of the package analysis/, which reads rows, and columns.py.
 */
#ifndef RUNGS_CLI_PYTHON_H
#define RUNGS_CLI_PYTHON_H

#include "base/status.h"
#include "base/text.h"
#include "cli/words.h"

/* Runs a module of this checkout ("analysis.report"), or a file by its absolute path. What it prints is appended to *output, *code
 * is its exit code. */
Status python_run(const char *module, const Words *words, Text *output, int *code);
/* Runs the module for a verb: what it prints goes to stdout, or after "rungs VERB: " to stderr. Frees
 * words; returns the exit code. */
int python_verb(const char *verb, const char *module, Words *words);

#endif
