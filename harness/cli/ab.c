/* rungs ab: two builds, process by process in one random order, then compared. */
#include "base/places.h"
#include "cli/ab_again.h"
#include "cli/ab_removed.h"
#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/folder.h"
#include "cli/interrupt.h"
#include "cli/lock.h"
#include "cli/options.h"
#include "cli/refs.h"
#include "cli/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_REPETITIONS = 9, PATH_TEXT = 700 };

typedef struct Ab {
    const char *base_ref, *new_ref, *out;
    char folder[PATH_TEXT];
    char binaries[2][PATH_TEXT], files[2][PATH_TEXT];
    int repetitions, seed;
    double second_stage; /* seconds; negative: as long as the first */
    AbProcessOptions run;
    CompareOptions compare;
} Ab;

static Status build_refs(Ab *ab) {
    char commits[2][REFS_TEXT];
    TRY(refs_resolve(ab->base_ref, commits[0]));
    TRY(refs_resolve(ab->new_ref, commits[1]));
    for (int i = 0; i < 2; i++) TRY(refs_build(commits[i], i == 1, ab->binaries[i], sizeof ab->binaries[i]));
    refs_tell(ab->new_ref, ab->binaries[0], ab->binaries[1]);
    return STATUS_OK;
}

static Status prepare_files(Ab *ab) {
    char *folder = ab->folder;
    const int length = ab->out
                           ? snprintf(folder, PATH_TEXT, "%s", ab->out)
                           : snprintf(folder, PATH_TEXT, "%s/%lld-%d", places_build("ab"), (long long)time(NULL), (int)getpid());
    if (length > PATH_TEXT - 20) return status_fail(STATUS_INVALID, "--out: path too long");
    for (int i = 0; i < 2; i++) snprintf(ab->files[i], PATH_TEXT, "%.*s/%s.jsonl", PATH_TEXT - 20, folder, AB_SIDES[i]);
    TRY(compare_check((const char *const[]){ab->files[0], ab->files[1], ab->compare.noise, NULL}, &ab->compare));
    return ab->out ? folder_make(folder) : STATUS_OK; /* that of the build folder when there is something for it */
}

static Status prepare(Ab *ab, char **scenarios, AbProcess repeats[2]) {
    TRY(prepare_files(ab));
    if (ab->base_ref) TRY(build_refs(ab));
    TRY(folder_make(ab->folder));
    for (int i = 0; i < 2; i++) {
        repeats[i] = (AbProcess){.binary = ab->binaries[i],
                                 .what = AB_SIDES[i],
                                 .out = ab->files[i],
                                 .words = scenarios,
                                 .options = &ab->run,
                                 .skip_unknown = true};
        const Status status = ab_process_prepare(&repeats[i]);
        if (status == STATUS_INVALID && ab->base_ref) /* what we have built is one */
            return status_prefix(i == 1 ? STATUS_CHECK : STATUS_IO, "%s does not start: ", i == 1 ? "NEW" : "BASE");
        TRY(status);
    }
    return STATUS_OK;
}

/* The next line "left out: WHAT" at or behind `at`, from WHAT on; NULL: none. */
static const char *next_left_out(const char *at) {
    static const char LINE[] = "left out: ";
    for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, LINE, strlen(LINE)) == 0) return at + strlen(LINE);
    return NULL;
}

static bool leaves_out(const Text *text, const char *what, size_t length) {
    const char *other = next_left_out(text->text);
    while (other && (strncmp(other, what, length) != 0 || other[length] != '\n')) other = next_left_out(other);
    return other != NULL;
}

/* What one side leaves out, the other measures. What both leave out is an error. */
static Status tell_left_out(const Text *own, const Text *other, const char *side, const char *other_side) {
    for (const char *what = next_left_out(own->text); what; what = next_left_out(what)) {
        const size_t length = strcspn(what, "\n");
        const char *why = what + length + (what[length] == '\n');
        why += strspn(why, " ");
        if (leaves_out(other, what, length))
            return status_fail(STATUS_INVALID, "neither build runs %.*s: %.*s", (int)length, what, (int)strcspn(why, "\n"), why);
        fprintf(stderr, "rungs ab: %s does not know this and leaves it out; only %s runs it: %.*s\n    %.*s\n", side, other_side,
                (int)length, what, (int)strcspn(why, "\n"), why);
    }
    return STATUS_OK;
}

/* Before an hour of measuring: are both what their files hold rows of, and what does each not know? */
static Status check(AbProcess sides[2]) {
    Text left_out[2] = {{0}};
    Status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) status = ab_process_check(&sides[i], &left_out[i]);
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = tell_left_out(&left_out[i], &left_out[!i], AB_SIDES[i], AB_SIDES[!i]);
    for (int i = 0; i < 2; i++) text_free(&left_out[i]);
    return status;
}

/* Commits have scenarios of their own; given programs do not. */
static Status verify_removed(const Ab *ab, const AbProcess *base, char *const *words, int count) {
    char tree[PATH_TEXT];
    snprintf(tree, sizeof tree, "%s", base->binary);
    for (int i = 0; i < 4; i++) *strrchr(tree, '/') = '\0'; /* TREE/build/release/bin/NAME */
    return ab_removed_verify(base, tree, words, count, ab->folder);
}

static Status measure(const Ab *ab, AbProcess repeats[2], char *const *words, int count) {
    TRY(lock_wait(ab->run.lock));
    TRY(check(repeats));
    if (ab->base_ref) TRY(verify_removed(ab, &repeats[0], words, count));
    AbOrder order = {.repetitions = ab->repetitions, .seed = ab->seed, .stage = 1, .stages = ab->second_stage != 0 ? 2 : 1};
    double seconds = 0;
    stamp_new_session(order.session);
    TRY(interrupt_catch_ab("ab", ab->folder));
    TRY(ab_order_run(&order, repeats, &seconds));
    const double limit = ab->second_stage >= 0 ? ab->second_stage : 2 * ab->repetitions * seconds;
    if (order.stages > 1) TRY(ab_again(&order, repeats, seconds, limit, &ab->compare));
    printf("rows: %s %s\n", ab->files[0], ab->files[1]);
    return STATUS_OK;
}

/* *nothing: nothing would be timed here, and that has been said. Commits are builds of this program, which can tell before they are
 * built; of given programs only those that are a rungs follow its rules of what runs where. */
static Status ab_run(Ab *ab, char *const *words, int count, bool *nothing) {
    char **scenarios = NULL;
    AbProcess repeats[2] = {{0}};
    TRY(ab_process_words("rungs ab ...", words, count, &scenarios));
    *nothing = ab->base_ref && ab_process_foresee("ab", words, count, &ab->run) == EXIT_NOTHING;
    Status status = *nothing ? STATUS_OK : prepare(ab, scenarios, repeats);
    if (status == STATUS_OK && !ab->base_ref && repeats[0].is_rungs && repeats[1].is_rungs)
        *nothing = ab_process_foresee("ab", words, count, &ab->run) == EXIT_NOTHING;
    if (status == STATUS_OK && !*nothing) status = measure(ab, repeats, words, count);
    ab_process_words_free(scenarios);
    return status;
}

static int check_words(const Ab *ab, int count) {
    if (ab->repetitions < LEAST_REPETITIONS)
        return cli_usage("ab", "--repetitions %d: at least %d are needed", ab->repetitions, LEAST_REPETITIONS);
    if (ab->base_ref && count < 1) return cli_usage("ab", "a scenario or a case is expected");
    if (!ab->base_ref && count < 3)
        return cli_usage("ab", "two programs and a scenario are expected, or --base COMMIT and a scenario");
    return EXIT_GOOD;
}

int command_ab(int argc, char **argv) {
    Ab ab = {.new_ref = "HEAD",
             .repetitions = 10,
             .second_stage = -1,
             .seed = (int)((unsigned)time(NULL) * 31u + (unsigned)getpid()) & 0xfffff};
    const CliOption OPTIONS[] = {
        {"base", "COMMIT", CLI_TEXT, &ab.base_ref, "build this commit for BASE, in a worktree", NULL},
        {"new", "COMMIT", CLI_TEXT, &ab.new_ref, "with --base: build this commit for NEW (default HEAD)", NULL},
        {"repetitions", "N", CLI_COUNT, &ab.repetitions, "processes of each build (default 10, at least 9)", NULL},
        {"seed", "N", CLI_COUNT, &ab.seed, "of the random order (default: from the clock; recorded in the rows)", NULL},
        {"second-stage", "TIME", CLI_DURATION, &ab.second_stage,
         "time limit for more processes of ambiguous rows that seem slower (default: as long as the first stage; 0s: none)", NULL},
        {"out", "FOLDER", CLI_TEXT, &ab.out, "folder of base.jsonl and new.jsonl, appended to (default: in the build folder)",
         NULL},
        AB_PROCESS_OPTIONS(ab.run),
        COMPARE_OPTIONS(ab.compare),
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("ab", "[BASE_PROGRAM NEW_PROGRAM] SCENARIO|CASE... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0) code = check_words(&ab, count);
    if (code == 0) {
        const int programs = ab.base_ref ? 0 : 2;
        for (int i = 0; i < programs; i++) snprintf(ab.binaries[i], PATH_TEXT, "%s", words[i]);
        bool nothing = false;
        const Status status = ab_run(&ab, words + programs, count - programs, &nothing);
        const int interrupted = interrupt_end_ab();
        code = interrupted                      ? interrupted
               : status == STATUS_OK && nothing ? EXIT_NOTHING
               : status == STATUS_OK            ? compare_files(ab.files[0], ab.files[1], &ab.compare)
                                                : cli_fail(status);
    }
    return code;
}
