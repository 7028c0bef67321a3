#include "measure/gbench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Script {
    size_t calls;
    size_t fails_at; /* the call that fails, counted from 1; 0: none */
} Script;

static Status scripted(void *context, double *seconds) {
    Script *script = context;
    script->calls++;
    if (script->calls == script->fails_at) return status_fail(STATUS_DEVICE, "call %zu failed on purpose", script->calls);
    *seconds = 1e-3 * (double)script->calls;
    return STATUS_OK;
}

static void every_sample_is_kept_in_order(void **state) {
    (void)state;
    for (size_t count = 1; count <= 40; count += 13) { /* many series in one process */
        Script script = {0};
        double seconds[64];
        memset(seconds, 0, sizeof seconds);
        assert_int_equal(gbench_run("series", count, scripted, &script, seconds), STATUS_OK);
        assert_int_equal(script.calls, count);
        for (size_t i = 0; i < count; i++) assert_true(seconds[i] == 1e-3 * (double)(i + 1));
        assert_true(seconds[count] == 0);
    }
}

static void no_iterations_call_nothing(void **state) {
    (void)state;
    Script script = {0};
    double seconds[1] = {0};
    assert_int_equal(gbench_run("none", 0, scripted, &script, seconds), STATUS_OK);
    assert_int_equal(script.calls, 0);
}

static void a_failed_sample_ends_the_series_with_its_status(void **state) {
    (void)state;
    for (size_t fails_at = 1; fails_at <= 10; fails_at += 3) {
        Script script = {.fails_at = fails_at};
        double seconds[10] = {0};
        assert_int_equal(gbench_run("failing", 10, scripted, &script, seconds), STATUS_DEVICE);
        assert_int_equal(script.calls, fails_at);
        char expected[64];
        snprintf(expected, sizeof expected, "call %zu failed on purpose", fails_at);
        assert_string_equal(status_message(), expected);
    }
    Script script = {0}; /* and the next series is not affected */
    double seconds[3];
    assert_int_equal(gbench_run("after", 3, scripted, &script, seconds), STATUS_OK);
    assert_int_equal(script.calls, 3);
}

/* Rows and progress share the terminal: Google Benchmark must not print into them. */
static void nothing_is_printed(void **state) {
    (void)state;
    char path[] = "/tmp/rungs_gbench_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    fflush(stdout);
    fflush(stderr);
    const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    Script script = {0}, failing = {.fails_at = 2};
    double seconds[4];
    const Status good = gbench_run("silent", 4, scripted, &script, seconds);
    const Status bad = gbench_run("silent", 4, scripted, &failing, seconds);
    fflush(stdout);
    fflush(stderr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    const off_t printed = lseek(file, 0, SEEK_END);
    close(file);
    unlink(path);
    assert_int_equal(good, STATUS_OK);
    assert_int_equal(bad, STATUS_DEVICE);
    assert_int_equal(printed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_is_kept_in_order),
        cmocka_unit_test(no_iterations_call_nothing),
        cmocka_unit_test(a_failed_sample_ends_the_series_with_its_status),
        cmocka_unit_test(nothing_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
