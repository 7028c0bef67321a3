#include "base/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect(const char *script, const ProcessLimits *limits, Status wanted, const char *output, int exit_code) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    Text got = {0};
    int code = -1;
    assert_int_equal(process_capture(argv, limits, &got, &code), wanted);
    assert_string_equal(got.text ? got.text : "", output);
    assert_int_equal(code, exit_code);
    text_free(&got);
}

static void output_and_exit_code(void **state) {
    (void)state;
    expect("echo out; echo err >&2; exit 7", NULL, STATUS_OK, "out\nerr\n", 7);
    expect("echo out; echo err >&2", &(ProcessLimits){.quiet_errors = true}, STATUS_OK, "out\n", 0);
    expect("printf 'a\\0b\\0'", NULL, STATUS_OK, "a?b?", 0);
    expect("kill -KILL $$", NULL, STATUS_OK, "", 128 + 9);
    expect("cat", NULL, STATUS_OK, "", 0); /* nothing comes from stdin */
}

static void limits_kill(void **state) {
    (void)state;
    expect("echo begun; sleep 1000", &(ProcessLimits){.seconds = 0.5}, STATUS_IO, "begun\n", 128 + 9);
    assert_non_null(strstr(status_message(), "within 0.5 s"));
    expect("echo begun; exec >&- 2>&-; sleep 1000", &(ProcessLimits){.seconds = 0.5}, STATUS_IO, "begun\n", 128 + 9);
    static const char *const ENDLESS[][3] = {{"yes"}, {"cat", "/dev/zero"}};
    for (size_t i = 0; i < sizeof ENDLESS / sizeof *ENDLESS; i++) {
        Text got = {0};
        int code = -1;
        assert_int_equal(process_capture(ENDLESS[i], &(ProcessLimits){.bytes = 10000}, &got, &code), STATUS_IO);
        assert_non_null(strstr(status_message(), "more than 10000 bytes"));
        assert_true(got.length > 10000 && got.length < 20000);
        assert_true(code > 128);
        text_free(&got);
    }
}

static bool exists(pid_t pid) {
    char path[64], text[200] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    const bool there = file && fgets(text, sizeof text, file) && !strstr(text, ") Z");
    if (file) fclose(file);
    return there;
}

/* A program, one that it starts, and one that has left for another session; their numbers come by a FIFO. */
static const char TREE[] = "setsid sh -c 'echo $$ >&3; exec sleep 1000' & sh -c 'echo $$ >&3; exec sleep 1000' & echo $$ >&3; wait";
enum { TREE_COUNT = 3 };

static void read_tree(const char *fifo, pid_t pids[TREE_COUNT]) {
    FILE *file = fopen(fifo, "r");
    assert_non_null(file);
    for (int i = 0; i < TREE_COUNT; i++) {
        assert_int_equal(fscanf(file, "%d", &pids[i]), 1);
        assert_true(exists(pids[i]));
    }
    fclose(file);
}

static void assert_gone(const pid_t pids[TREE_COUNT]) {
    for (int i = 0; i < TREE_COUNT; i++) {
        for (int waited = 0; exists(pids[i]) && waited < 6000; waited++) poll(NULL, 0, 10);
        assert_false(exists(pids[i]));
    }
}

/* However the caller ends, and whatever the program started: nobody goes on. */
static void all_end_with_the_caller(void **state) {
    (void)state;
    static const int SIGNALS[] = {SIGKILL, SIGTERM, SIGHUP, 0};
    char folder[] = "/tmp/rungs-test-XXXXXX", fifo[64], script[400];
    assert_non_null(mkdtemp(folder));
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(script, sizeof script, "exec 3>%s; %s", fifo, TREE);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
        pid_t pids[TREE_COUNT];
        const pid_t caller = fork();
        if (caller == 0) {
            const ProcessLimits limits = {.seconds = SIGNALS[i] ? 1000 : 3};
            Text got = {0};
            int code;
            process_capture((const char *const[]){"sh", "-c", script, NULL}, &limits, &got, &code);
            _exit(0);
        }
        read_tree(fifo, pids);
        if (SIGNALS[i]) kill(caller, SIGNALS[i]); /* otherwise the limit ends it */
        assert_int_equal(waitpid(caller, NULL, 0), caller);
        assert_gone(pids);
    }
    unlink(fifo);
    rmdir(folder);
}

static void one_more_variable(void **state) {
    (void)state;
    expect("echo $THIS $HOME", &(ProcessLimits){.variable = "THIS=one"}, STATUS_OK, "one /home\n", 0);
}

static void no_such_program(void **state) {
    (void)state;
    const char *const argv[] = {"/no/such/program", NULL};
    Text got = {0};
    int code = -1;
    assert_int_equal(process_capture(argv, NULL, &got, &code), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_message(), "/no/such/program"));
}

int main(void) {
    setenv("HOME", "/home", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_exit_code), cmocka_unit_test(limits_kill),     cmocka_unit_test(all_end_with_the_caller),
        cmocka_unit_test(one_more_variable),    cmocka_unit_test(no_such_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
