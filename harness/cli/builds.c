/* rungs compare, ab, bisect and calibrate: two builds by their rows; two builds, process by process in one random order, then
 * compared; the commits between two in the same way; this build against itself, process by process. This file reads the command
 * line; analysis/compare/ resolves commits, builds, measures and compares. */
#include "base/memory.h"
#include "base/mode.h"
#include "base/output.h"
#include "base/places.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/python.h"
#include "pipeline/session.h"
#include "plan/registry.h"
#include "record/environment.h"
#include "record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_REPETITIONS = 9, PATH_TEXT = 700 };

/* ---- Comparing two files. Texts as given on the command line; NULL: not given. */

typedef struct CompareOptions {
    const char *min_effect, *must_detect, *noise, *allow_missing, *modes, *json, *markdown, *junit;
    bool strict;
} CompareOptions;

/* Entries of a CliOption table. */
#define COMPARE_OPTIONS(o)                                                                                                         \
    {"min-effect", "PERCENT", CLI_TEXT, &(o).min_effect, "ignore smaller changes (default 3%)"},                                   \
        {"must-detect", "PERCENT", CLI_TEXT, &(o).must_detect,                                                                     \
         "fail if a row could not have shown this slow-down ('5%,warn': only warn)"},                                              \
        {"noise", "FILE", CLI_TEXT, &(o).noise, "the machine's noise floor, from rungs calibrate"},                                \
        {"allow-missing", "GLOBS", CLI_TEXT, &(o).allow_missing, "variants or cases that may be missing, comma separated"},        \
        {"modes", "LIST", CLI_TEXT, &(o).modes, "modes to compare, comma separated, such as cold,hot"},                            \
        {"strict", NULL, CLI_FLAG, &(o).strict, "also fail ambiguous comparisons whose whole interval is slower by --min-effect"}, \
        {"json", "FILE", CLI_FILE, &(o).json, "the comparison as JSON"},                                                           \
        {"markdown", "FILE", CLI_FILE, &(o).markdown, "the comparison as Markdown, for a summary page"}, {                         \
        "junit", "FILE", CLI_FILE, &(o).junit, "the comparison as JUnit XML"                                                       \
    }

/* The words of `python -m analysis.compare`. */
static void compare_words(Words *words, const char *base, const char *new, CompareOptions *o) {
    const CliOption OPTIONS[] = {COMPARE_OPTIONS(*o), {0}};
    words_add(words, "%s", base);
    words_add(words, "%s", new);
    words_options(words, OPTIONS);
    if (terminal_colour(STDOUT_FILENO)) words_add(words, "--colour");
}

/* "cold,hot": each is a mode. EXIT_USAGE after printing which is none. */
static int check_modes(const char *verb, const CompareOptions *o) {
    char word[16];
    Mode mode;
    for (const char *list = o->modes; list; list = *list ? list + 1 : NULL) {
        const size_t length = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        if (!mode_parse(word, &mode)) return cli_usage(verb, "--modes '%s': modes are %s", o->modes, mode_names());
        list += length;
    }
    return EXIT_GOOD;
}

int command_compare(int argc, char **argv) {
    CompareOptions o = {0};
    const CliOption OPTIONS[] = {COMPARE_OPTIONS(o), {0}};
    Words out = {0};
    char **words;
    int count = 0;
    int code = cli_parse("compare", "BASE.jsonl NEW.jsonl [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count != 2) code = cli_usage("compare", "two files of rows are expected: BASE and NEW");
    if (code == 0) code = check_modes("compare", &o);
    if (code != 0) return code;
    compare_words(&out, words[0], words[1], &o);
    const char *const inputs[] = {words[0], words[1], o.noise, NULL};
    return python_verb(&(PythonVerb){"rungs compare: ", "analysis.compare", true, OPTIONS, inputs}, &out);
}

/* ---- Whole processes of a build, one after the other. */

/* What is handed on to `run`, as given on the command line; and the lock, which is not. */
typedef struct ProcessOptions {
    const char *variants, *device, *timeout, *memory_limit, *lock;
    bool quick, full;
} ProcessOptions;

/* Entries of a CliOption table. */
#define PROCESS_OPTIONS(o)                                                                                                         \
    {"variants", "GLOBS", CLI_TEXT, &(o).variants, "variants to run, such as 'cuda_*,-cuda_apply,cpu_best threads=4'"},            \
        {"quick", NULL, CLI_FLAG, &(o).quick, "few samples per process"},                                                          \
        {"full", NULL, CLI_FLAG, &(o).full, "many samples per process"},                                                           \
        {"lock", "FILE", CLI_TEXT, &(o).lock, "measure only while holding this lock, as flock(1) does; builds do not wait"},       \
        {"timeout", "TIME", CLI_TEXT, &(o).timeout, "time limit for one call of a variant (default 120s)"},                        \
        {"memory-limit", "SIZE", CLI_TEXT, &(o).memory_limit, "host memory limit for one worker (default: none)"}, {               \
        "device", "N", CLI_TEXT, &(o).device, "CUDA device"                                                                        \
    }

/* Which rows this machine would skip or not time, by the plan, the variants and the device alone. */
typedef struct Foresight {
    size_t total, timed; /* rows; those that would be timed, if they pass */
    size_t need_gpu;     /* rows that would be timed if there were a GPU */
    char no_gpu_reason[256];
} Foresight;

static void foresee_row(const PlanItem *item, const VariantChoice *choice, bool has_gpu, Foresight *out) {
    Instance shapes;
    /* As if there were a GPU: what is refused even so does not wait for one. */
    const Session session = {.choice = choice, .item = item, .problem = &item->problem};
    out->total++;
    if (instance_shapes(&item->problem, &shapes) != STATUS_OK || session_refused(&session) == STATUS_UNSUPPORTED) return;
    const bool on_gpu = choice->entry->backend == BACKEND_CUDA || item->gpu_only ||
                        (choice->entry->backend == BACKEND_PEER && choice->entry->needs_gpu);
    if (on_gpu && !has_gpu)
        out->need_gpu++;
    else
        out->timed++;
}

static Foresight foresee(const Plan *plan, int device) {
    Foresight foresight = {0};
    const bool has_gpu = gpu_there(device, foresight.no_gpu_reason, sizeof foresight.no_gpu_reason);
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            foresee_row(&plan->items[i], &plan->items[i].variants[v], has_gpu, &foresight);
    supports_close();
    return foresight;
}

static Status report_foreseen(const char *verb, const Foresight *f, Text *out) {
    if (f->timed > 0 && f->need_gpu > 0)
        return text_append(out, "rungs %s: %zu of %zu rows need a GPU and will have no times: %s\n", verb, f->need_gpu, f->total,
                           f->no_gpu_reason);
    if (f->timed > 0) return STATUS_OK;
    if (f->need_gpu > 0)
        return text_append(out, "rungs %s: nothing would be timed: %zu of %zu rows need a GPU%s: %s\n", verb, f->need_gpu, f->total,
                           f->need_gpu < f->total ? ", and the others do not apply here" : "", f->no_gpu_reason);
    return text_append(out, "rungs %s: nothing would be timed: none of %zu rows applies here\n", verb, f->total);
}

/* Which of the rows will have no times on this machine, by plan and device alone: lines for stderr, or none. *nothing: no row would
 * have any. What this build cannot plan is left for the builds to judge. */
static Status foresee_rows(const char *verb, char *const *words, int count, const ProcessOptions *options, Text *out,
                           bool *nothing) {
    Plan plan = {0};
    long long device = 0;
    *nothing = false;
    if (options->device && !text_integer(options->device, &device)) return STATUS_OK; /* for `run` to refuse */
    if (options->variants) modules_select(options->variants);
    Status status = cases_plan(&plan, verb, words, count);
    if (status == STATUS_OK && options->variants) status = plan_filter(&plan, options->variants);
    const Foresight foresight = foresee(&plan, (int)device);
    plan_free(&plan);
    if (status != STATUS_OK) return STATUS_OK;
    *nothing = foresight.timed == 0;
    return report_foreseen(verb, &foresight, out);
}

/* Before anything is built. EXIT_GOOD: there is something to measure; else the exit code, after saying why. */
static int look_ahead(const char *verb, const char *command, char *const *words, int count, const ProcessOptions *options) {
    Text foreseen = {0};
    bool nothing = false;
    Status status = cases_check(command, words, count);
    if (status == STATUS_OK) status = foresee_rows(verb, words, count, options, &foreseen, &nothing);
    if (foreseen.text) fputs(foreseen.text, stderr);
    text_free(&foreseen);
    return status != STATUS_OK ? cli_fail(status) : nothing ? EXIT_NOTHING : EXIT_GOOD;
}

/* For Python (builds.py): the options, each of the words, and "progress": a descriptor of this program's stderr, to which it writes
 * while the output of verbs is collected. */
static void process_words(Words *out, const CliOption *options, char *const *words, int count) {
    words_options(out, options);
    words_add(out, "--progress=%d", dup(STDERR_FILENO)); /* open at exec */
    for (int i = 0; i < count; i++) words_add(out, "--word=%s", words[i]);
}

/* And which builds, in which session: --facts, for the lines of rows. */
static void build_words(Words *out, const char *folder) {
    char *facts = environment_session();
    if (!facts) out->status = status_fail(STATUS_MEMORY, "no memory for the facts of a session");
    words_add(out, "--folder=%s", folder);
    words_add(out, "--facts=%s", facts ? facts : "");
    words_add(out, "--name=%s", PROGRAM.project);
    words_add(out, "--project=%s", places_project(""));
    words_add(out, "--build=%s", places_build(""));
    memory_free(facts);
}

/* place: where the files are, for the message after an interrupt. */
static int measure(const char *verb, const char *place, const PythonVerb *python, Words *words) {
    const Status status = interrupt_catch_ab(verb, place);
    const int code = status == STATUS_OK ? python_verb(python, words) : (words_free(words), cli_fail(status));
    const int interrupted = interrupt_end_ab();
    return interrupted ? interrupted : code;
}

typedef struct Ab {
    const char *refs[2], *out; /* refs: of BASE, of NEW; the first is NULL where programs are given */
    char folder[PATH_TEXT], files[2][PATH_TEXT];
    int repetitions, seed;
    double second_stage; /* seconds; negative: as long as the first */
    ProcessOptions run;
    CompareOptions compare;
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
    const CliOption COMPARED[] = {COMPARE_OPTIONS(ab->compare), {0}};
    TRY(files_check(COMPARED, (const char *const[]){ab->files[0], ab->files[1], ab->compare.noise, NULL}, false));
    return ab->out ? output_make_folder(folder, 0777) : STATUS_OK; /* that of the build folder when there is something for it */
}

/* Commits are builds of this program, which can tell before they are built that nothing would be timed; of given programs only
 * those that are a rungs follow its rules of what runs where, so Python tells. */
static Status prepare(Ab *ab, char *const *words, int count) {
    TRY(cases_check("rungs ab ...", words, count));
    TRY(foresee_rows("ab", words, count, &ab->run, &ab->foreseen, &ab->nothing));
    if (ab->refs[0] && ab->foreseen.text) fputs(ab->foreseen.text, stderr);
    if (ab->refs[0] && ab->nothing) return STATUS_OK;
    return prepare_files(ab);
}

static void add_words(Ab *ab, const CliOption *options, char *const *programs, char *const *words, int count, Words *out) {
    process_words(out, options, words, count);
    build_words(out, ab->folder);
    words_add(out, "--foreseen=%s", ab->foreseen.text ? ab->foreseen.text : "");
    if (ab->nothing) words_add(out, "--nothing");
    for (int i = 0; i < 2 && !ab->refs[0]; i++) words_add(out, "--program=%s", programs[i]);
    words_add(out, "--");
    compare_words(out, ab->files[0], ab->files[1], &ab->compare);
}

static int check_words(const Ab *ab, int count) {
    if (ab->repetitions < LEAST_REPETITIONS)
        return cli_usage("ab", "--repetitions %d: at least %d are needed", ab->repetitions, LEAST_REPETITIONS);
    if (ab->refs[0] && count < 1) return cli_usage("ab", "a scenario or a case is expected");
    if (!ab->refs[0] && count < 3)
        return cli_usage("ab", "two programs and a scenario are expected, or --base COMMIT and a scenario");
    return check_modes("ab", &ab->compare);
}

static int measure_ab(Ab *ab, const CliOption *options, char *const *programs, char *const *words, int count) {
    Words out = {0};
    const char *const inputs[] = {ab->files[0], ab->files[1], ab->compare.noise, NULL};
    add_words(ab, options, programs, words, count, &out);
    return measure("ab", ab->folder, &(PythonVerb){"rungs: ", "analysis.compare.ab", true, options, inputs}, &out);
}

int command_ab(int argc, char **argv) {
    Ab ab = {.refs = {NULL, "HEAD"},
             .repetitions = 10,
             .second_stage = -1,
             .seed = (int)((unsigned)time(NULL) * 31u + (unsigned)getpid()) & 0xfffff};
    const CliOption OPTIONS[] = {
        {"base", "COMMIT", CLI_TEXT, &ab.refs[0], "build this commit for BASE, in a worktree"},
        {"new", "COMMIT", CLI_TEXT, &ab.refs[1], "with --base: build this commit for NEW (default HEAD)"},
        {"repetitions", "N", CLI_COUNT, &ab.repetitions, "processes of each build (default 10, at least 9)"},
        {"seed", "N", CLI_COUNT, &ab.seed, "of the random order (default: from the clock; recorded in the rows)"},
        {"second-stage", "TIME", CLI_DURATION, &ab.second_stage,
         "time limit for more processes of ambiguous rows that seem slower (default: as long as the first stage; 0s: none)"},
        {"out", "FOLDER", CLI_TEXT, &ab.out, "folder of base.jsonl and new.jsonl, appended to (default: in the build folder)"},
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
                                          : measure_ab(&ab, OPTIONS, words, words + programs, count - programs);
    }
    text_free(&ab.foreseen);
    return code;
}

/* ---- The commits between two. */

typedef struct Bisect {
    const char *out;
    int repetitions, seed;
    double budget_seconds;
    ProcessOptions run;
} Bisect;

static int measure_bisect(const Bisect *self, const CliOption *options, char *const *words, int count) {
    char folder[PATH_TEXT];
    snprintf(folder, sizeof folder, "%s/bisect-%lld-%d", places_build("ab"), (long long)time(NULL), (int)getpid());
    const char *const place = self->out ? self->out : folder, *const inputs[] = {NULL};
    Words out = {0};
    process_words(&out, options, words + 2, count - 2);
    words_add(&out, "--good=%s", words[0]);
    words_add(&out, "--bad=%s", words[1]);
    build_words(&out, place);
    return measure("bisect", place, &(PythonVerb){"rungs bisect: ", "analysis.compare.bisect", true, options, inputs}, &out);
}

int command_bisect(int argc, char **argv) {
    Bisect a = {.repetitions = 10, .seed = (int)((unsigned)time(NULL) * 31u + (unsigned)getpid()) & 0xfffff};
    const CliOption OPTIONS[] = {
        {"budget", "TIME", CLI_DURATION, &a.budget_seconds, "begin no comparison that would end after it (default: none)"},
        {"repetitions", "N", CLI_COUNT, &a.repetitions, "processes of each side of a comparison (default 10, at least 9)"},
        {"seed", "N", CLI_COUNT, &a.seed, "of the random orders (default: from the clock; recorded in the rows)"},
        {"out", "FOLDER", CLI_TEXT, &a.out, "folder of the rows (default: in the build folder)"},
        PROCESS_OPTIONS(a.run),
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("bisect", "GOOD BAD SCENARIO|CASE... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count < 3) code = cli_usage("bisect", "two commits and a scenario or a case are expected");
    if (code == 0 && a.repetitions < LEAST_REPETITIONS)
        code = cli_usage("bisect", "--repetitions %d: at least %d are needed", a.repetitions, LEAST_REPETITIONS);
    if (code == 0) code = look_ahead("bisect", "rungs bisect GOOD BAD", words + 2, count - 2, &a.run);
    return code != 0 ? code : measure_bisect(&a, OPTIONS, words, count);
}

/* ---- This build against itself: how much equal builds differ on this machine. */

typedef struct Calibrate {
    const char *out;
    int repetitions;
    ProcessOptions run;
} Calibrate;

static int measure_calibrate(const CliOption *options, char *const *words, int count) {
    char program[PATH_TEXT], rows[PATH_TEXT];
    const char *const folder = places_build("noise");
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(rows, sizeof rows, "%s/rows-%lld-%d.jsonl", folder, (long long)time(NULL), (int)getpid());
    Words out = {0};
    process_words(&out, options, words, count);
    words_add(&out, "--rows=%s", rows);
    words_add(&out, "--folder=%s", folder);
    words_add(&out, "--program=%s", program);
    words_add(&out, "--project=%s", places_project(""));
    const Status status = output_make_folder(folder, 0777);
    if (status != STATUS_OK) return words_free(&out), cli_fail(status);
    const char *const inputs[] = {rows, NULL};
    return measure("calibrate", rows, &(PythonVerb){"rungs calibrate: ", "analysis.compare.calibrate", true, options, inputs},
                   &out);
}

int command_calibrate(int argc, char **argv) {
    Calibrate a = {.repetitions = 18};
    const CliOption OPTIONS[] = {
        {"repetitions", "N", CLI_COUNT, &a.repetitions, "processes (default 18, at least 9)"},
        {"out", "FILE", CLI_FILE, &a.out, "the noise file (default: noise/ in the build folder, named for the device)"},
        PROCESS_OPTIONS(a.run),
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("calibrate", "SCENARIO|CASE... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = cli_usage("calibrate", "a scenario or a case is expected");
    if (code == 0 && a.repetitions < LEAST_REPETITIONS)
        code = cli_usage("calibrate", "--repetitions %d: at least 9 are needed to estimate the spread", a.repetitions);
    if (code == 0) code = look_ahead("calibrate", "rungs calibrate", words, count, &a.run);
    return code != 0 ? code : measure_calibrate(OPTIONS, words, count);
}
