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

/* $2 and $4: the descriptors behind --commands and --replies. */
#define TAKE "read -r line <&\"$2\"; "
#define SAY(text) "echo '" text "' >&\"$4\"; "

/* One question to a worker that is this shell script. */
static Status ask(const char *script, double timeout, size_t memory, json_t **reply) {
    const char *const argv[] = {"/bin/bash", "-c", script, "worker", NULL};
    Child *child = NULL;
    assert_int_equal(child_start(&(ChildOptions){.argv = argv, .memory_limit = memory}, &child), STATUS_OK);
    json_t *command = json_pack("{s:s}", "do", "run");
    const Status status = child_ask(child, command, timeout, reply);
    json_decref(command);
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

static void no_such_program(void **state) {
    (void)state;
    const char *const argv[] = {"/no/such/program", NULL};
    Child *child = NULL;
    assert_int_equal(child_start(&(ChildOptions){.argv = argv}, &child), STATUS_OK);
    json_t *command = json_pack("{s:s}", "do", "run"), *reply = NULL;
    assert_int_equal(child_ask(child, command, 60, &reply), STATUS_DEVICE);
    assert_non_null(strstr(status_message(), "/no/such/program: cannot be started"));
    json_decref(command);
    child_stop(child);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(lies),
        cmocka_unit_test(ends),
        cmocka_unit_test(babble_is_utf8),
        cmocka_unit_test(nothing_stays_open),
        cmocka_unit_test(no_such_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
