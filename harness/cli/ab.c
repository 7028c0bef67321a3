/* rungs ab: two builds, process by process in one random order, then compared. This file reads the command line and resolves
 * commits; analysis/compare/ab.py builds, measures and compares. */
#include "base/memory.h"
#include "base/places.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/folder.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/processes.h"
#include "cli/python.h"
#include "record/checkout.h"
#include "record/environment.h"
#include "record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_REPETITIONS = 9, PATH_TEXT = 700, COMMIT_TEXT = 48, NUMBER_TEXT = 32 };

typedef struct Ab {
    const char *refs[2], *out; /* refs: of BASE, of NEW; the first is NULL where programs are given */
    char folder[PATH_TEXT], files[2][PATH_TEXT], commits[2][COMMIT_TEXT];
    int repetitions, seed;
    double second_stage; /* seconds; negative: as long as the first */
    ProcessOptions run;
    CompareOptions compare;
    char numbers[3][NUMBER_TEXT]; /* texts of the three above */
    char *facts;                  /* of the session, for the lines of rows */
    Text foreseen;
    bool nothing; /* would be timed */
} Ab;

static Status prepare_files(Ab *ab) {
    static const char *const SIDES[2] = {"base", "new"};
    char *folder = ab->folder;
    const int length = ab->out
                           ? snprintf(folder, PATH_TEXT, "%s", ab->out)
                           : snprintf(folder, PATH_TEXT, "%s/%lld-%d", places_build("ab"), (long long)time(NULL), (int)getpid());
    if (length > PATH_TEXT - 20) return status_fail(STATUS_INVALID, "--out: path too long");
    for (int i = 0; i < 2; i++) snprintf(ab->files[i], PATH_TEXT, "%.*s/%s.jsonl", PATH_TEXT - 20, folder, SIDES[i]);
    TRY(compare_check((const char *const[]){ab->files[0], ab->files[1], ab->compare.noise, NULL}, &ab->compare));
    return ab->out ? folder_make(folder) : STATUS_OK; /* that of the build folder when there is something for it */
}

/* The commit that a name means now: both names before the first build, which takes minutes. */
static Status resolve(const char *ref, char commit[COMMIT_TEXT]) {
    char *found = checkout_resolve(places_project(""), ref);
    const bool good = found && *found;
    if (good) snprintf(commit, COMMIT_TEXT, "%.*s", (int)strcspn(found, "\n"), found);
    free(found);
    return good ? STATUS_OK : status_fail(STATUS_INVALID, "'%s' is not a commit of this repository", ref);
}

/* Says what may not be meant: changes of the checkout that are in neither build, one commit on both sides. */
static Status prepare_commits(Ab *ab) {
    const char *const python = places_project("build/python/bin/python");
    for (int i = 0; i < 2; i++) TRY(resolve(ab->refs[i], ab->commits[i]));
    char *changes = strcmp(ab->refs[1], "HEAD") == 0 ? checkout_changes(places_project("")) : NULL;
    if (changes && *changes)
        fprintf(stderr,
                "rungs ab: warning: NEW is HEAD; uncommitted changes (%.*s%s) are in neither build. Commit "
                "them, or build both sides and name the programs\n",
                (int)strcspn(changes, "\n"), changes, strchr(changes, '\n') ? ", ..." : "");
    free(changes);
    if (strcmp(ab->commits[0], ab->commits[1]) == 0)
        fprintf(stderr, "rungs ab: warning: BASE and NEW are the same commit; any difference is this machine's noise\n");
    if (access(python, X_OK) == 0) setenv("RUNGS_PYTHON", python, 0); /* a worktree has none of its own */
    return STATUS_OK;
}

/* Commits are builds of this program, which can tell before they are built that nothing would be timed; of given programs only
 * those that are a rungs follow its rules of what runs where, so Python tells. */
static Status prepare(Ab *ab, char *const *words, int count) {
    TRY(cases_check("rungs ab ...", words, count));
    TRY(processes_foresee("ab", words, count, &ab->run, &ab->foreseen, &ab->nothing));
    if (ab->refs[0] && ab->foreseen.text) fputs(ab->foreseen.text, stderr);
    if (ab->refs[0] && ab->nothing) return STATUS_OK;
    TRY(prepare_files(ab));
    if (ab->refs[0]) TRY(prepare_commits(ab));
    ab->facts = environment_session();
    return ab->facts ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for the facts of a session");
}

static void add_words(Ab *ab, char *const *programs, char *const *words, int count, Words *out) {
    snprintf(ab->numbers[0], NUMBER_TEXT, "%d", ab->repetitions);
    snprintf(ab->numbers[1], NUMBER_TEXT, "%d", ab->seed);
    snprintf(ab->numbers[2], NUMBER_TEXT, "%.17g", ab->second_stage);
    const char *const facts[][2] = {{"repetitions", ab->numbers[0]},
                                    {"seed", ab->numbers[1]},
                                    {"second-stage", ab->numbers[2]},
                                    {"folder", ab->folder},
                                    {"facts", ab->facts},
                                    {"name", PROGRAM.project},
                                    {"project", places_project("")},
                                    {"build", places_build("")},
                                    {"foreseen", ab->foreseen.text ? ab->foreseen.text : ""},
                                    {"nothing", ab->nothing ? "" : NULL}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) words_option(out, facts[i][0], facts[i][1]);
    for (int i = 0; i < 2; i++) words_option(out, ab->refs[0] ? "commit" : "program", ab->refs[0] ? ab->commits[i] : programs[i]);
    processes_words(out, &ab->run, words, count);
    words_add(out, "--");
    compare_words(out, ab->files[0], ab->files[1], &ab->compare);
}

static int check_words(const Ab *ab, int count) {
    if (ab->repetitions < LEAST_REPETITIONS)
        return cli_usage("ab", "--repetitions %d: at least %d are needed", ab->repetitions, LEAST_REPETITIONS);
    if (ab->refs[0] && count < 1) return cli_usage("ab", "a scenario or a case is expected");
    if (!ab->refs[0] && count < 3)
        return cli_usage("ab", "two programs and a scenario are expected, or --base COMMIT and a scenario");
    return compare_modes("ab", &ab->compare);
}

static int measure(Ab *ab, char *const *programs, char *const *words, int count) {
    Words out = {0};
    const char *const inputs[] = {ab->files[0], ab->files[1], ab->compare.noise, NULL};
    add_words(ab, programs, words, count, &out);
    Status status = interrupt_catch_ab("ab", ab->folder);
    const int code = status == STATUS_OK ? python_judge("rungs: ", "analysis.compare.ab", &out, inputs) : cli_fail(status);
    const int interrupted = interrupt_end_ab();
    return interrupted ? interrupted : code;
}

int command_ab(int argc, char **argv) {
    Ab ab = {.refs = {NULL, "HEAD"},
             .repetitions = 10,
             .second_stage = -1,
             .seed = (int)((unsigned)time(NULL) * 31u + (unsigned)getpid()) & 0xfffff};
    const CliOption OPTIONS[] = {
        {"base", "COMMIT", CLI_TEXT, &ab.refs[0], "build this commit for BASE, in a worktree", NULL},
        {"new", "COMMIT", CLI_TEXT, &ab.refs[1], "with --base: build this commit for NEW (default HEAD)", NULL},
        {"repetitions", "N", CLI_COUNT, &ab.repetitions, "processes of each build (default 10, at least 9)", NULL},
        {"seed", "N", CLI_COUNT, &ab.seed, "of the random order (default: from the clock; recorded in the rows)", NULL},
        {"second-stage", "TIME", CLI_DURATION, &ab.second_stage,
         "time limit for more processes of ambiguous rows that seem slower (default: as long as the first stage; 0s: none)", NULL},
        {"out", "FOLDER", CLI_TEXT, &ab.out, "folder of base.jsonl and new.jsonl, appended to (default: in the build folder)",
         NULL},
        PROCESS_OPTIONS(ab.run),
        COMPARE_OPTIONS(ab.compare),
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("ab", "[BASE_PROGRAM NEW_PROGRAM] SCENARIO|CASE... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0) code = check_words(&ab, count);
    if (code == 0) {
        const int programs = ab.refs[0] ? 0 : 2;
        const Status status = prepare(&ab, words + programs, count - programs);
        code = status != STATUS_OK        ? cli_fail(status)
               : ab.refs[0] && ab.nothing ? EXIT_NOTHING
                                          : measure(&ab, words, words + programs, count - programs);
    }
    text_free(&ab.foreseen);
    memory_free(ab.facts);
    return code;
}
