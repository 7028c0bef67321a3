/* A worker may answer, refuse, lie, babble, crash or hang: each comes back as a Status with words, and nothing of it is left. */
#include "device/child.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

/* $2 and $4: the descriptors behind --commands and --replies. */
#define TAKE "read -r line <&\"$2\"; "
#define SAY(text) "echo '" text "' >&\"$4\"; "

/* One question to a worker that is this shell script. */
static Status ask(const char *script, double timeout, size_t memory, json_t **reply) {
    const char *const argv[] = {"/bin/bash", "-c", script, "worker", NULL};
    Child *child = NULL;
    assert_int_equal(child_start(&(ChildOptions){.argv = argv, .memory_limit = memory}, &child), STATUS_OK);
    const Status status = child_ask(child, json_pack("{s:s}", "do", "run"), timeout, reply);
    child_stop(child);
    return status;
}

static void expect(const char *script, Status wanted, const char *words) {
    json_t *reply = NULL;
    assert_int_equal(ask(script, 60, 0, &reply), wanted);
    assert_null(reply);
    if (!strstr(status_message(), words)) fail_msg("'%s' is not in '%s'", words, status_message());
}

static void answers(void **state) {
    (void)state;
    json_t *reply = NULL;
    assert_int_equal(ask(TAKE SAY("{\"ok\": true, \"seconds\": 2.5}"), 60, 0, &reply), STATUS_OK);
    assert_true(json_number_value(json_object_get(reply, "seconds")) == 2.5);
    json_decref(reply);
    expect(TAKE SAY("{\"skip\": \"not here\"}"), STATUS_UNSUPPORTED, "not here");
    expect(TAKE SAY("{\"error\": \"guard\", \"kind\": \"check\"}"), STATUS_CHECK, "guard");
    expect(TAKE SAY("{\"error\": \"odd\", \"kind\": \"never heard of\"}"), STATUS_INTERNAL, "odd");
}

static void lies(void **state) {
    (void)state;
    expect(TAKE SAY("{}"), STATUS_INTERNAL, "neither ok");
    expect(TAKE SAY("{\"ok\": 1}"), STATUS_INTERNAL, "neither ok");
    expect(TAKE SAY("{\"error\": null, \"kind\": \"check\"}"), STATUS_INTERNAL, "neither ok");
    expect(TAKE SAY("words of the variant"), STATUS_INTERNAL, "not a JSON object");
    expect(TAKE SAY("[1, 2]"), STATUS_INTERNAL, "not a JSON object");
    expect(TAKE SAY("{\"ok\": true, \"ok\": true}"), STATUS_INTERNAL, "not a JSON object");
}

static void ends(void **state) {
    (void)state;
    expect(TAKE "echo what happened >&2; exit 3", STATUS_DEVICE, "exit code 3; it printed: what happened");
    expect(TAKE "kill -SEGV $$", STATUS_DEVICE, "signal 11");
    expect(TAKE "printf '{\"ok\":' >&\"$4\"; exit 0", STATUS_DEVICE, "exit code 0");
    expect(TAKE "eval \"exec $4>&-\"; while :; do read -r -t 1 < <(:) || sleep 1; done", STATUS_DEVICE, "kept running");
    json_t *reply = NULL;
    assert_int_equal(ask(TAKE "sleep 1000", 0.2, 0, &reply), STATUS_DEVICE);
    assert_non_null(strstr(status_message(), "timed out"));
    assert_int_equal(ask(TAKE "sleep 1000", 60, 1, &reply), STATUS_MEMORY);
    assert_non_null(strstr(status_message(), "exceeded its limit"));
}

/* What it printed may be cut within a character or be no text at all: the words still fit into a row. */
static void babble_is_utf8(void **state) {
    (void)state;
    expect(TAKE "printf 'a\\377b \\303' >&2; exit 3", STATUS_DEVICE, "a?b ?");
    json_t *text = json_string(status_message());
    assert_non_null(text);
    json_decref(text);
}

static int open_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    assert_non_null(directory);
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

/* Thousands of rows are one process: no descriptor may stay behind, whatever the worker did. */
static void nothing_stays_open(void **state) {
    (void)state;
    const int before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        json_t *reply = NULL;
        (void)ask(i % 2 ? TAKE SAY("{\"ok\": true}") : TAKE "exit 1", 60, 0, &reply);
        json_decref(reply);
    }
    expect("exit 0", STATUS_DEVICE, "exit code 0");
    assert_int_equal(open_descriptors(), before);
}

/* Says ok to one command, and does `then` when it has been told to close. */
static Status end_of(const char *then, double timeout) {
    char script[600];
    snprintf(script, sizeof script, TAKE SAY("{\"ok\": true}") TAKE SAY("{\"ok\": true}") "%s", then);
    const char *const argv[] = {"/bin/bash", "-c", script, "worker", NULL};
    Child *child = NULL;
    assert_int_equal(child_start(&(ChildOptions){.argv = argv}, &child), STATUS_OK);
    json_t *reply = NULL;
    assert_int_equal(child_ask(child, json_pack("{s:s}", "do", "run"), 60, &reply), STATUS_OK);
    json_decref(reply);
    const Status status = child_end(child, timeout);
    child_stop(child);
    return status;
}

static void expect_end(const char *then, const char *words) {
    assert_int_equal(end_of(then, 60), STATUS_DEVICE);
    if (!strstr(status_message(), words)) fail_msg("'%s' is not in '%s'", words, status_message());
}

static void its_end_counts(void **state) {
    (void)state;
    assert_int_equal(end_of("exit 0", 60), STATUS_OK);
    expect_end("echo why >&2; exit 3", "at its end: ended with exit code 3; it printed: why");
    expect_end("kill -ABRT $$", "at its end: crashed: signal 6");
    assert_int_equal(end_of("sleep 1000", 0.2), STATUS_DEVICE);
    assert_non_null(strstr(status_message(), "at its end: timed out"));
}

/* Wherever they hide: in the process group, in a session of their own, behind a parent that has ended. */
static void what_it_leaves_is_killed(void **state) {
    (void)state;
    expect_end("sleep 1000 & exit 0", "at its end: exited; left 1 process running");
    expect_end("setsid sleep 1000 & exit 0", "left 1 process running");
    expect_end("(setsid sleep 1000 & setsid sleep 1000 &) ; exit 0", "left 2 processes running");
    assert_int_equal(end_of("sleep 0.1 & exit 0", 60), STATUS_OK); /* what ends by itself in time is no harm */
    expect(TAKE "setsid sleep 1000 & exit 3", STATUS_DEVICE, "exit code 3; left 1 process running");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, not even a zombie */
}

static void another_worker_is_not_taken_along(void **state) {
    (void)state;
    const char *const argv[] = {"/bin/bash", "-c", TAKE "setsid sleep 0.3 & wait; " SAY("{\"ok\": true}"), "worker", NULL};
    Child *child = NULL;
    assert_int_equal(child_start(&(ChildOptions){.argv = argv}, &child), STATUS_OK);
    expect_end("sleep 1000 & exit 0", "left 1 process running");
    json_t *reply = NULL;
    assert_int_equal(child_ask(child, json_pack("{s:s}", "do", "run"), 60, &reply), STATUS_OK);
    json_decref(reply);
    child_stop(child);
}

static void it_stands_still_while_paused(void **state) {
    (void)state;
    const char *const argv[] = {"/bin/bash", "-c", "while read -r line <&\"$2\"; do " SAY("{\"ok\": true}") "done", "worker", NULL};
    Child *child = NULL;
    json_t *reply = NULL;
    assert_int_equal(child_start(&(ChildOptions){.argv = argv}, &child), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(child_ask(child, json_pack("{s:s}", "do", "run"), 60, &reply), STATUS_OK);
        json_decref(reply);
        assert_true(child_pause(child));
    }
    child_stop(child);
}

/* Whatever else we have open. */
static void nothing_is_inherited(void **state) {
    (void)state;
    const int ours = dup2(STDERR_FILENO, 77); /* without close-on-exec */
    assert_int_equal(ours, 77);
    json_t *reply = NULL;
    assert_int_equal(ask(TAKE "[ -e /proc/$$/fd/77 ] || " SAY("{\"ok\": true}"), 60, 0, &reply), STATUS_OK);
    close(ours);
    json_decref(reply);
}

/* bash's own memory is small; its child's is not. */
static void memory_of_children_counts(void **state) {
    (void)state;
    json_t *reply = NULL;
    const char *const script = TAKE "(x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 1000) & wait";
    assert_int_equal(ask(script, 60, (size_t)50 << 20, &reply), STATUS_MEMORY);
    assert_non_null(strstr(status_message(), "exceeded its limit of 0.05 GiB"));
}

static void no_such_program(void **state) {
    (void)state;
    const char *const argv[] = {"/no/such/program", NULL};
    Child *child = NULL;
    assert_int_equal(child_start(&(ChildOptions){.argv = argv}, &child), STATUS_OK);
    json_t *reply = NULL;
    assert_int_equal(child_ask(child, json_pack("{s:s}", "do", "run"), 60, &reply), STATUS_DEVICE);
    assert_non_null(strstr(status_message(), "/no/such/program: cannot be started"));
    child_stop(child);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(lies),
        cmocka_unit_test(ends),
        cmocka_unit_test(babble_is_utf8),
        cmocka_unit_test(nothing_stays_open),
        cmocka_unit_test(its_end_counts),
        cmocka_unit_test(what_it_leaves_is_killed),
        cmocka_unit_test(another_worker_is_not_taken_along),
        cmocka_unit_test(it_stands_still_while_paused),
        cmocka_unit_test(nothing_is_inherited),
        cmocka_unit_test(memory_of_children_counts),
        cmocka_unit_test(no_such_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
