/* python.h - the one way in which the program calls its Python: scripts that read rows, such as plots/report.py. */
#ifndef RUNGS_CLI_PYTHON_H
#define RUNGS_CLI_PYTHON_H

#include "base/status.h"
#include "base/text.h"
#include "cli/words.h"

/* Runs a script of this checkout ("plots/report.py"). What it prints is appended to *output, *code is its exit code. */
Status python_run(const char *script, const Words *words, Text *output, int *code);

#endif
