#include "base/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
    expect("kill -KILL $$", NULL, STATUS_OK, "", 128 + 9);
    expect("cat", NULL, STATUS_OK, "", 0); /* nothing comes from stdin */
}

static void limits_kill(void **state) {
    (void)state;
    expect("echo begun; sleep 1000", &(ProcessLimits){.seconds = 0.5}, STATUS_IO, "begun\n", 128 + 9);
    assert_non_null(strstr(status_message(), "within 0.5 s"));
    const char *const endless[] = {"yes", NULL};
    Text got = {0};
    int code = -1;
    assert_int_equal(process_capture(endless, &(ProcessLimits){.bytes = 10000}, &got, &code), STATUS_IO);
    assert_non_null(strstr(status_message(), "more than 10000 bytes"));
    assert_true(got.length > 10000 && got.length < 20000);
    assert_true(code > 128);
    text_free(&got);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_exit_code),
        cmocka_unit_test(limits_kill),
        cmocka_unit_test(no_such_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
