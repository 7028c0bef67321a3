/* python.h - the one way in which the program calls its Python: modules of the package analysis/, which reads rows, and columns.py.
 */
#pragma once

#include "base/status.h"
#include "base/text.h"
#include "cli/options.h"

/* Runs a module of this checkout ("analysis.report"), or a file by its absolute path. What it prints is appended to *output; *code
 * is its exit code, EXIT_MACHINE if Python itself failed. */
Status python_run(const char *module, const Words *words, Text *output, int *code);
/* The same for a module that makes output files. They are written here (cli/files.h) if it ends with EXIT_GOOD, EXIT_CHECK or
 * EXIT_NOTHING; STATUS_INVALID if one of them would replace an input. If the module ends early with such a code, *code is
 * EXIT_MACHINE. */
Status python_make(const char *module, const Words *words, const char *const *inputs, Text *output, int *code);

typedef struct PythonVerb {
    const char *prefix, *module; /* prefix: of what it says on stderr, "rungs plot: " */
    bool judges;                 /* EXIT_CHECK and EXIT_NOTHING are results, too */
    const CliOption *options;    /* those of files are checked first (files_check) */
    const char *const *inputs;
} PythonVerb;

/* Runs the module for a verb. Its output goes to stdout, or to stderr if it has no result. Nothing is said of an interrupt. Frees
 * words; returns the exit code. */
int python_verb(const PythonVerb *self, Words *words);
