/* interrupt.h - Ctrl-C and SIGTERM while rows are made: the workers end, the rows stay, and the last lines say where they are and
 * how to go on. */
#pragma once

#include "cli/progress.h"

/* From now on SIGINT, SIGTERM and SIGHUP are noted (base/interrupt.h), unless they are ignored. A second one, or 5 s without an
 * end, ends the process at once with the same message. argv: of the verb, whose command line with --resume (and --out rows, if
 * add_out) is the way to go on. */
Status interrupt_catch(char **argv, const char *rows, bool add_out);
/* The same for a verb whose Python runs whole processes. folder: where their files are, or the file; the message comes once it is
 * there. */
Status interrupt_catch_ab(const char *verb, const char *folder);
/* After interrupt_catch_ab: prints the message if a signal came. The exit code: 128 + signal; 0 if none came. */
int interrupt_end_ab(void);
/* Prints the message; the exit code: 128 + signal. */
int interrupt_end(Progress *progress, const RunSummary *summary);
/* How `run` and `reproduce` end: prints that message or the closing lines; the exit code. out: the rows; go_on: options that
 * continue what the budget left. */
int run_finish(Status status, Progress *progress, const RunSummary *summary, const char *out, const char *go_on);
