/* commands.h - the verbs of the command line. Each takes its own argv (argv[0] is the verb) and returns the exit code:
 * 0 good; 1 a check failed; 2 usage or a bad file; 3 nothing was measured or compared; 4 the machine cannot do it. */
#pragma once

#include "base/status.h"

#include <stdbool.h>

enum { EXIT_GOOD = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_NOTHING = 3, EXIT_MACHINE = 4 };

int command_run(int argc, char **argv);
int command_score(int argc, char **argv);
int command_try(int argc, char **argv);
int command_benchmark(int argc, char **argv);
int command_reproduce(int argc, char **argv);
int command_exec(int argc, char **argv);
int command_list(int argc, char **argv);
int command_sharpness(int argc, char **argv);
int command_judge(int argc, char **argv);
int command_report(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_export(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_ab(int argc, char **argv);
int command_bisect(int argc, char **argv);
int command_calibrate(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_new(int argc, char **argv);
int command_build(int argc, char **argv);

/* `rungs try FILE.cu...` without --op: a program as it is, in the emulator. The second becomes another process. */
bool program_is_given(int argc, char **argv);
int program_try(int argc, char **argv);

/* Rows to figures, REPORT.md and report.html in a folder, by analysis/report/ and plots/. files: NULL-terminated paths. Returns an
 * exit code. */
int report_make(const char *const *files, const char *folder);
/* Prints "rungs: message" to stderr and gives the exit code that fits. */
int cli_fail(Status status);
/* Prints a usage error (printf style) with a pointer to --help; EXIT_USAGE. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
