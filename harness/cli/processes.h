/* processes.h - what `ab` and `calibrate` share: they run whole processes of a build, one after the other.
 * analysis/compare/builds.py starts and watches them. */
#ifndef RUNGS_CLI_PROCESSES_H
#define RUNGS_CLI_PROCESSES_H

#include "base/status.h"
#include "base/text.h"
#include "cli/words.h"

#include <stdbool.h>

/* What is handed on to `run`, as given on the command line; and the lock, which is not. */
typedef struct ProcessOptions {
    const char *variants, *device, *timeout, *memory_limit, *lock;
    bool quick, full;
} ProcessOptions;

/* Entries of a CliOption table. */
#define PROCESS_OPTIONS(o)                                                                                                         \
    {"variants", "GLOBS", CLI_TEXT, &(o).variants, "variants to run, such as 'cuda_*,-cuda_apply,cpu_best threads=4'", NULL},      \
        {"quick", NULL, CLI_FLAG, &(o).quick, "few samples per process", NULL},                                                    \
        {"full", NULL, CLI_FLAG, &(o).full, "many samples per process", NULL},                                                     \
        {"lock", "FILE", CLI_TEXT, &(o).lock, "measure only while holding this lock, as flock(1) does; builds do not wait", NULL}, \
        {"timeout", "TIME", CLI_TEXT, &(o).timeout, "time limit for one call of a variant (default 120s)", NULL},                  \
        {"memory-limit", "SIZE", CLI_TEXT, &(o).memory_limit, "host memory limit for one worker (default: none)", NULL}, {         \
        "device", "N", CLI_TEXT, &(o).device, "CUDA device", NULL                                                                  \
    }

/* Which of the rows will have no times on this machine, by plan and device alone: lines for stderr, or none. *nothing: no row would
 * have any. What this build cannot plan is left for the builds to judge. verb: "ab". */
Status processes_foresee(const char *verb, char *const *words, int count, const ProcessOptions *options, Text *told, bool *nothing);
/* Names and values in turn, for Python: the options, each of the words, and "progress": a descriptor of this program's stderr, to
 * which Python writes while the output of verbs is collected. */
void processes_words(Words *out, const ProcessOptions *options, char *const *words, int count);

#endif
