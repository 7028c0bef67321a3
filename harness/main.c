/* main.c - the command line: finds the verb and hands over. What a verb prints is under cli/. */
#include "base/jsontext.h"
#include "base/memory.h"
#include "base/places.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "device/device.h"
#include "plan/registry.h"
#include "record/environment.h"
#include "record/program.h"
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Verb {
    const char *name;
    int (*command)(int argc, char **argv);
    const char *summary;
} Verb;

static const Verb VERBS[] = {
    {"reproduce", command_reproduce,
     "run the published scenarios within a time budget; write rows, figures, REPORT.md and report.html"},
    {"run", command_run, "run scenarios or cases: verify, then time, every variant"},
    {"try", command_try, "verify and time a variant from anywhere, FILE.c or FILE.cu, beside the op's variants"},
    {"score", command_score, "verify and time many files, each beside a variant of the op: a line of JSON for each"},
    {"benchmark", command_benchmark, "time variants as Google Benchmarks: its flags, reporters and compare.py"},
    {"exec", command_exec, "run one variant on your own .npy files"},
    {"list", command_list, "ops, variants, scenarios, claims"},
    {"sharpness", command_sharpness, "what the tolerances of an op would let pass: errors, cuts of precision, wrong definitions"},
    {"judge", command_judge, "evaluate published claims from rows"},
    {"merge", command_merge, "join the files of `run --shard`, and list the rows that are missing"},
    {"report", command_report, "draw figures and write REPORT.md, and a page to filter and sort, from rows"},
    {"plot", command_plot, "draw time against a size or window, in the terminal or as SVG"},
    {"export", command_export, "convert rows to CSV, JUnit XML, the JSON of Google Benchmark or github-action-benchmark"},
    {"compare", command_compare, "compare rows of two builds; exit code 1 if one got slower or wrong"},
    {"ab", command_ab, "run two builds interleaved, process by process, and compare them"},
    {"bisect", command_bisect, "find the commit that made a row slower, by comparisons as of `ab`"},
    {"calibrate", command_calibrate, "measure this machine's noise floor with this build"},
    {"new", command_new, "write a project of your own: an op, three variants, a scenario, a workflow"},
    {"build", command_build, "build the project of a folder, with this rungs"},
    {"doctor", command_doctor, "show what this machine and this build support"},
};
enum { VERB_COUNT = sizeof VERBS / sizeof *VERBS };

static void usage(FILE *stream) {
    fprintf(stream, "usage: rungs VERB ...\n\n");
    for (int i = 0; i < VERB_COUNT; i++) fprintf(stream, "  %-10s %s\n", VERBS[i].name, VERBS[i].summary);
    fprintf(stream, "  %-10s %s\n\n", "test", "build and run all tests (through the script ./rungs)");
    fprintf(stream, "rungs help VERB, or rungs VERB --help, lists the options, rungs help all those of every verb;\n"
                    "rungs --version describes this build.\n");
    fprintf(stream, "Exit codes: 0 good; 1 a check failed; 2 usage or a bad file; 3 nothing was measured or compared; 4 the "
                    "machine cannot do it;\n130 interrupted by Ctrl-C (143: by SIGTERM).\n");
}

static bool is_one_of(const char *word, const char *const *names) {
    for (; *names; names++)
        if (strcmp(word, *names) == 0) return true;
    return false;
}

static const char *const HELP[] = {"--help", "-h", "help", NULL};

static int tests_are_elsewhere(int argc, char **argv) {
    if (argc > 1 && is_one_of(argv[1], HELP)) {
        printf("usage: rungs test [--full] [ctest options], through the script ./rungs\n"
               "  --full                     also the slow tests\n"
               "  -R REGEX                   only the tests whose name matches; -N lists them. Both are ctest's\n");
        return EXIT_GOOD;
    }
    fprintf(stderr, "rungs: the tests are built and run by the script: ./rungs test\n");
    return EXIT_USAGE;
}

static bool has_gpu(void) {
    char why[256];
    return device_cuda_count(why, sizeof why) > 0;
}

/* Files that would be left out silently; a Status if it is not known which variants there are. */
static Status report_problems(void) {
    Text problems = {0};
    errno = 0;
    const bool found = modules_settings()->found, no_memory = errno == ENOMEM || memory_check() != STATUS_OK;
    if (!found && no_memory) return status_fail(STATUS_MEMORY, "no memory to read %s/settings.json", modules_settings()->folder);
    if (!found)
        fprintf(stderr, "rungs: no variant is known: %s has no settings.json; build this program again\n",
                modules_settings()->folder);
    Status status = registry_op_problems(&problems);
    if (status == STATUS_OK) status = registry_variant_problems(&problems);
    if (status == STATUS_OK && problems.text) fprintf(stderr, "%s", problems.text);
    text_free(&problems);
    return status;
}

/* argv[0] is the verb. */
static int call_verb(int argc, char **argv) {
    const char *names[VERB_COUNT];
    if (places_check() != STATUS_OK) return cli_fail(STATUS_UNSUPPORTED);
    modules_open(PROGRAM.modules, has_gpu);
    const Status problems = report_problems();
    if (problems != STATUS_OK) return cli_fail(problems);
    for (int i = 0; i < VERB_COUNT; i++) {
        names[i] = VERBS[i].name;
        if (strcmp(argv[0], VERBS[i].name) != 0) continue;
        const int code = VERBS[i].command(argc, argv);
        return code == CLI_HELPED ? EXIT_GOOD : code;
    }
    if (strcmp(argv[0], "test") == 0) return tests_are_elsewhere(argc, argv);
    const char *nearest = text_nearest(argv[0], names, VERB_COUNT);
    fprintf(stderr, "rungs: unknown verb '%s'%s%s%s\n\n", argv[0], nearest ? "; did you mean '" : "", nearest ? nearest : "",
            nearest ? "'?" : "");
    usage(stderr);
    return EXIT_USAGE;
}

/* What a command prints is its result: a full disk behind stdout is a failure. A reader that closed the pipe needs no message. */
static int end(int code) {
    const bool failed = fflush(stdout) != 0;
    const int error = errno;
    if (!failed && !ferror(stdout) && fclose(stdout) == 0) return code;
    struct pollfd pipe = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR)) return code;
    fprintf(stderr, "rungs: stdout cannot be written%s%s\n", failed ? ": " : "", failed ? strerror(error) : "");
    return code == EXIT_GOOD ? EXIT_MACHINE : code;
}

/* A file opened later would get the number of a closed standard stream, and with it all that is printed there. */
static void keep_standard_streams(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* docs/help.txt, from which ./rungs answers before anything is built: a line "== VERB" before the help of each. */
static int help_all(void) {
    printf("== rungs\n");
    usage(stdout);
    for (int i = 0; i <= VERB_COUNT; i++) {
        char *const name = i < VERB_COUNT ? (char *)VERBS[i].name : (char *)"test";
        printf("== %s\n", name);
        const int code = call_verb(2, (char *[]){name, (char *)"--help", NULL});
        if (code != EXIT_GOOD) return code;
    }
    return EXIT_GOOD;
}

/* What was built, from which commit, by which compilers. */
static void print_version(void) {
    json_t *environment = environment_program();
    const json_t *build = json_object_get(environment, "build");
    const char *commit = json_string_value(json_object_get(environment, "commit"));
    const bool own = strcmp(PROGRAM.project, "rungs") == 0;
    printf("%s%s%s", PROGRAM.project, own ? " " : "", own ? RUNGS_VERSION : "");
    if (commit)
        printf(" (commit %.12s%s)", commit,
               json_is_true(json_object_get(environment, "dirty")) ? ", with uncommitted changes" : "");
    if (!own) printf(" with rungs %s", RUNGS_VERSION);
    const char *const cuda = text_of(build, "cuda_compiler");
    printf("\nbuild: %s\ncompiler: %s\nCUDA compiler: %s\n", text_of(build, "type"), text_of(build, "compiler"),
           *cuda ? cuda : "none");
    json_decref(environment);
}

static int start(int argc, char **argv) {
    static const char *const VERSION[] = {"--version", "-V", NULL};
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (is_one_of(argv[1], VERSION)) {
        print_version();
        return EXIT_GOOD;
    }
    if (!is_one_of(argv[1], HELP)) return call_verb(argc - 1, argv + 1);
    if (argc > 2 && strcmp(argv[2], "all") == 0) return help_all();
    if (argc > 2) return call_verb(2, (char *[]){argv[2], "--help", NULL});
    usage(stdout);
    return EXIT_GOOD;
}

static bool ended;

/* A library may call exit(1), such as OpenMP without memory for a thread: 1 would mean that a check failed. */
static void on_exit_of_library(void) {
    if (ended) return;
    fprintf(stderr, "rungs: ended by a library, for the reason above\n");
    _exit(end(EXIT_MACHINE));
}

int main(int argc, char **argv) {
    json_set_alloc_funcs(memory_allocate, memory_free);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of the write that met it, with the file's name */
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return worker_main(argc - 1, argv + 1, &TIMING);
    keep_standard_streams();
    atexit(on_exit_of_library);
    const int code = end(start(argc, argv));
    ended = true;
    return code;
}
