/* python.h - the one way in which the program calls its Python: modules of the package analysis/, which reads rows, and columns.py.
 */
#ifndef RUNGS_CLI_PYTHON_H
#define RUNGS_CLI_PYTHON_H

#include "base/status.h"
#include "base/text.h"
#include "cli/handed.h"
#include "cli/words.h"

/* Runs a module of this checkout ("analysis.report"), or a file by its absolute path. What it prints is appended to *output; *code
 * is its exit code, EXIT_MACHINE if Python itself failed. */
Status python_run(const char *module, const Words *words, Text *output, int *code);
/* The same for a module that makes output files. They are written here (cli/handed.h) if it ends with EXIT_GOOD, EXIT_CHECK or
 * EXIT_NOTHING; STATUS_INVALID if one of them would replace an input. If the module ends early with such a code, *code is
 * EXIT_MACHINE. */
Status python_make(const char *module, const Words *words, const char *const *inputs, Text *output, int *code);

typedef struct PythonVerb {
    const char *verb, *module;
    const OutputName *outputs; /* for handed_check */
    const char *const *inputs;
} PythonVerb;

/* Runs the module for a verb. Its output goes to stdout or, if it fails, to stderr after "rungs VERB: ". Frees words; returns the
 * exit code. */
int python_verb(const PythonVerb *self, Words *words);

/* The same for a verb that judges, without the check of outputs: what it prints goes to stdout where it ends with EXIT_GOOD,
 * EXIT_CHECK or EXIT_NOTHING, else to stderr behind the prefix. Nothing is said of an interrupt. */
int python_judge(const char *prefix, const char *module, Words *words, const char *const *inputs);

#endif
