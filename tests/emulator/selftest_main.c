/* Runs every self test in a process of its own: clean kernels in every order and with several seeds, bugs in random order.
 *
 *     emulator_selftest plain|asan|race|memory [words of one test's name [seeds of clean kernels]]
 *
 * Prints a line per failure and a count. */
#include "selftest.h"

#include "emulator/fault.h"
#include "emulator/fiber.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUG_SEEDS = 4, TIME_LIMIT_SECONDS = 100, OUTPUT_MAX = 16384, WRONG_EXIT_CODE = 3 };

static const char *const KINDS[KIND_COUNT] = {"plain", "asan", "race", "memory"};
static int checks, failures, clean_seeds = 6;

typedef struct Outcome {
    int status; /* of waitpid */
    char output[OUTPUT_MAX];
} Outcome;

static void child(const SelfTest *test, const EmulatorSettings *settings) {
    alarm(TIME_LIMIT_SECONDS);
    emulator_settings = *settings;
    const Device *device = device_emulator();
    Status status = device->open(0);
    if (status == STATUS_OK) status = test->run(device);
    if (status != STATUS_OK) fprintf(stderr, "rungs-emulator: %s: %s\n", WRONG, status_message());
    _exit(status == STATUS_OK ? 0 : status == STATUS_CHECK ? WRONG_EXIT_CODE : 1);
}

static void run(const SelfTest *test, const EmulatorSettings *settings, Outcome *outcome) {
    int ends[2];
    size_t used = 0;
    *outcome = (Outcome){.status = -1};
    if (pipe(ends) != 0) return;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        child(test, settings);
    }
    close(ends[1]);
    ssize_t got;
    char rest[256];
    while ((got = used + 1 < OUTPUT_MAX ? read(ends[0], outcome->output + used, OUTPUT_MAX - 1 - used)
                                        : read(ends[0], rest, sizeof rest)) > 0)
        if (used + 1 < OUTPUT_MAX) used += (size_t)got;
    close(ends[0]);
    waitpid(pid, &outcome->status, 0);
}

static void judge(bool good, const SelfTest *test, const EmulatorSettings *settings, const char *wanted, const Outcome *outcome) {
    checks++;
    if (good) return;
    failures++;
    emulator_settings = *settings;
    printf("FAIL %s (%s): wanted %s; exit code %d, signal %d; it said: %s\n", test->name, settings_replay(), wanted,
           WIFEXITED(outcome->status) ? WEXITSTATUS(outcome->status) : -1,
           WIFSIGNALED(outcome->status) ? WTERMSIG(outcome->status) : 0, outcome->output[0] ? outcome->output : "nothing");
}

static void run_clean(const SelfTest *test) {
    for (int seed = 0; seed < clean_seeds; seed++)
        for (int order = ORDER_SEQUENTIAL; order <= ORDER_RANDOM; order++) {
            if (order != ORDER_RANDOM && seed > 1) continue;
            const EmulatorSettings settings = {.seed = seed,
                                               .order = (EmulatorOrder)order,
                                               .resident_blocks = seed == 1 ? 1 : 4,
                                               .watchdog_seconds = 10,
                                               .uninitialised = CLASS_ERROR,
                                               .same_value = CLASS_ERROR,
                                               .schedules = 1,
                                               .relaxed_volatile = true};
            Outcome outcome;
            run(test, &settings, &outcome);
            judge(outcome.status == 0 && !strstr(outcome.output, "rungs-emulator"), test, &settings, "silence", &outcome);
        }
}

/* As what the rest of the table says: exit code, and the report's first words. */
static bool noticed_as(const Outcome *outcome, const char *wanted) {
    const bool wrong = strcmp(wanted, WRONG) == 0;
    char start[128];
    snprintf(start, sizeof start, "rungs-emulator: %s: ", wanted);
    return WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == (wrong ? WRONG_EXIT_CODE : (int)FAULT_EXIT_CODE) &&
           strstr(outcome->output, start);
}

/* One seed, one story: the report's line, which is the same to the letter. */
static bool same_report(const char *a, const char *b) {
    const char *first = strstr(a, "rungs-emulator: "), *second = strstr(b, "rungs-emulator: ");
    return first && second && strcspn(first, "\n") == strcspn(second, "\n") && strncmp(first, second, strcspn(first, "\n")) == 0;
}

static void run_bug(const SelfTest *test, int kind) {
    static Outcome outcome, again;
    const char *wanted = test->noticed[kind];
    if (!wanted) return;
    const bool patient = strcmp(wanted, "livelock") == 0; /* takes as long as the watchdog waits, and ends when a clock says so */
    for (int seed = 1; seed <= (patient ? 1 : BUG_SEEDS); seed++) {
        const EmulatorSettings settings = {.seed = seed,
                                           .order = ORDER_RANDOM,
                                           .resident_blocks = 4,
                                           .watchdog_seconds = 1,
                                           .uninitialised = CLASS_ERROR,
                                           .same_value = CLASS_ERROR,
                                           .schedules = 1,
                                           .relaxed_volatile = true};
        run(test, &settings, &outcome);
        judge(noticed_as(&outcome, wanted) && (!test->says || strstr(outcome.output, test->says)), test, &settings, wanted,
              &outcome);
        if (getenv("SELFTEST_SHOW") && seed == 1) printf("%s: %s\n", test->name, outcome.output);
        if (patient || seed > 1) continue;
        run(test, &settings, &again);
        judge(same_report(outcome.output, again.output), test, &settings, "the same report from the same seed", &again);
    }
}

int main(int argc, char **argv) {
    static const SelfTest *const CLEAN[] = {CLEAN_BLOCK, CLEAN_WARP,    CLEAN_ATOMIC, CLEAN_GRID,   CLEAN_CUB,    CLEAN_AFFINE,
                                            CLEAN_HEAP,  CLEAN_OFFSETS, CLEAN_SCOPES, CLEAN_LITMUS, CLEAN_COPIES, CLEAN_STRINGS};
    static const SelfTest *const BUGS[] = {BUGS_SYNC, BUGS_MEMORY, BUGS_HEAP, BUGS_SCOPES, BUGS_MANY, BUGS_LITMUS, BUGS_COPIES};
    int kind = 0;
    while (argc > 1 && kind < KIND_COUNT && strcmp(argv[1], KINDS[kind]) != 0) kind++;
    if (argc > 3) clean_seeds = atoi(argv[3]);
    if (argc < 2 || argc > 4 || kind == KIND_COUNT || clean_seeds < 1) {
        fprintf(stderr, "usage: %s plain|asan|race|memory [words of a test's name [seeds]]\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof CLEAN / sizeof *CLEAN; i++)
        for (const SelfTest *test = CLEAN[i]; test->name; test++)
            if (argc < 3 || strstr(test->name, argv[2])) run_clean(test);
    for (size_t i = 0; i < sizeof BUGS / sizeof *BUGS; i++)
        for (const SelfTest *test = BUGS[i]; test->name; test++)
            if (argc < 3 || strstr(test->name, argv[2])) run_bug(test, kind);
    printf("%d checks, %d failed\n", checks, failures);
    return failures > 0 || checks == 0;
}
