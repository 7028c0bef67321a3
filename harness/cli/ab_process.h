/* ab_process.h - one more process of a build: `rungs run` as a program, its rows appended to a file. For `ab` and `calibrate`,
 * where what varies from process to process is what matters. */
#ifndef RUNGS_CLI_AB_PROCESS_H
#define RUNGS_CLI_AB_PROCESS_H

#include "base/text.h"
#include "record/stamp.h"

#include <stdbool.h>

/* What is handed on to `run`, as given on the command line; and the lock, which is not. */
typedef struct AbProcessOptions {
    const char *variants, *device, *timeout, *memory_limit, *lock;
    bool quick, full;
} AbProcessOptions;

/* Entries of a CliOption table. */
#define AB_PROCESS_OPTIONS(o)                                                                                                      \
    {"variants", "GLOBS", CLI_TEXT, &(o).variants, "variants to run, such as 'cuda_*,-cuda_apply,cpu_best threads=4'", NULL},      \
        {"quick", NULL, CLI_FLAG, &(o).quick, "few samples per process", NULL},                                                    \
        {"full", NULL, CLI_FLAG, &(o).full, "many samples per process", NULL},                                                     \
        {"lock", "FILE", CLI_TEXT, &(o).lock, "measure only while holding this lock, as flock(1) does; builds do not wait", NULL}, \
        {"timeout", "TIME", CLI_TEXT, &(o).timeout, "time limit for one call of a variant (default 120s)", NULL},                  \
        {"memory-limit", "SIZE", CLI_TEXT, &(o).memory_limit, "host memory limit for one worker (default: none)", NULL}, {         \
        "device", "N", CLI_TEXT, &(o).device, "CUDA device", NULL                                                                  \
    }

typedef struct AbProcess {
    const char *binary; /* a rungs */
    const char *what;   /* for messages: "base" */
    const char *out;    /* appended to */
    char **words;       /* scenarios and cases, NULL-terminated; see ab_process_words */
    const AbProcessOptions *options;
    const char *budget;     /* NULL: no limit */
    int rows;               /* set by ab_process_prepare: what is at `out`, held open */
    double start_seconds;   /* what it takes before its first row, as of the last check; 0: not known */
    bool skip_unknown;      /* leave out what the build does not know; ab_process_prepare clears it where the build cannot */
    bool knows_no_ceilings; /* set by ab_process_prepare */
    bool is_rungs;          /* likewise: its help is that of this program, and so are its rules of what runs where */
} AbProcess;

/* command: as in cases_check. Scenario names become paths of this checkout, folders of scenarios the paths of their files: whatever
 * checkout a build is of, it runs the same list. Free with ab_process_words_free. */
Status ab_process_words(const char *command, char *const *words, int count, char ***out);
/* The same words in another checkout of this repository; cases, and files that are not in both, are left out. NULL: nothing is
 * left.
 */
Status ab_process_words_of(const char *root, char *const *words, int count, char ***out);
void ab_process_words_free(char **words);
/* Asks the binary for what it can do. */
Status ab_process_prepare(AbProcess *self);
/* Runs it once. stamp: goes into the lines that it wrote; NULL: none. A row that failed is no error here: the row says so.
 * STATUS_INVALID if the build does not know what it is to run; it has written nothing then. STATUS_IO if it was interrupted; its
 * rows are removed then, since a run that was cut off lacks some. */
Status ab_process_run(const AbProcess *self, const Stamp *stamp);
/* ", about 5 min left" after `done` of `total` processes since clock_seconds() was `began`; "" before the first is done. */
const char *ab_process_time_left(double began, int done, int total, char text[32]);
/* Before the first process: runs it without starting a row, with a file of its own, which is removed again.
 * STATUS_INVALID if `self->out` holds rows of another commit, which are no repetitions of this build's. left_out: gets what it
 * prints, with the "left out: " lines of Plan. */
Status ab_process_check(AbProcess *self, Text *left_out);
/* Sets start_seconds, unless a check did: runs it without starting a row. */
Status ab_process_start(AbProcess *self);
/* Says which of the rows will have no times on this machine, by plan and device alone. EXIT_NOTHING: none would have any. What this
 * build cannot plan is left for the builds to judge. verb: "ab". */
int ab_process_foresee(const char *verb, char *const *words, int count, const AbProcessOptions *options);

#endif
