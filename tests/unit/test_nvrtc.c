/* needs: rolling */
#include "../../impls/rolling/_apply.h"
#include "base/places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NVRTC needs no GPU: users' functions are compiled here for one that need not be present. */

#define HEAD                                                                                                                       \
    "__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset)"

static char path[64];

static int make_file(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/rungs-nvrtc-XXXXXX");
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static Status compile(const char *file, UsercodeReal real) {
    void *cubin = NULL;
    const Status status = apply_compile(file, real, "sm_90", 13, &cubin);
    if (status == STATUS_UNSUPPORTED) {
        assert_non_null(strstr(status_message(), "NVRTC"));
        skip();
    }
    if (status == STATUS_OK)
        assert_memory_equal(cubin,
                            "\x7f"
                            "ELF",
                            4);
    free(cubin);
    return status;
}

static void assert_refused(const char *text, const char *const *expected) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(compile(path, USERCODE_F64), STATUS_INVALID);
    for (; *expected; expected++)
        if (!strstr(status_message(), *expected)) fail_msg("'%s' is not in: %s", *expected, status_message());
}

static void examples_compile(void **state) {
    (void)state;
    static const char *const examples[] = {"first_minus_last", "running_mean"};
    for (int e = 0; e < 2; e++)
        for (int real = USERCODE_F32; real <= USERCODE_F64; real++) {
            char file[512];
            snprintf(file, sizeof file, "%s/%s.cu", places_project("examples/apply"), examples[e]);
            if (compile(file, (UsercodeReal)real) != STATUS_OK) fail_msg("%s", status_message());
        }
}

static void errors_show_the_users_lines(void **state) {
    (void)state;
    char place[80];
    snprintf(place, sizeof place, "%s(4)", path);
    assert_refused("// one\n// two\n" HEAD " {\n    out[0] = undeclared_thing;\n}\n",
                   (const char *const[]){"undeclared_thing", place, "error", NULL});
}

static void missing_functions_are_named(void **state) {
    (void)state;
    assert_refused("__device__ void other(real *out) { out[0] = 1; }\n",
                   (const char *const[]){"defines no `__device__ void window_function(const real *shared", NULL});
    assert_refused("__device__ void window_function(real *out) { out[0] = 1; }\n",
                   (const char *const[]){"defines no `__device__ void window_function(const real *shared", NULL});
}

static void the_same_names_as_on_the_host(void **state) {
    (void)state;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(HEAD " {\n    const size_t n = arr_len;\n    for (size_t i = 0; i < n; i++) out[i] = isnan(shared[offset + i]) ? NAN : "
               "sqrt(fabs(shared[offset + i])) + INFINITY;\n}\n",
          file);
    assert_int_equal(fclose(file), 0);
    if (compile(path, USERCODE_F32) != STATUS_OK) fail_msg("NVRTC: %s", status_message());
    Usercode code;
    if (usercode_open(path, USERCODE_LONG_DOUBLE, &USERCODE_BUILD, &code) != STATUS_OK) fail_msg("host: %s", status_message());
    usercode_close(&code);
}

static void a_missing_library_is_named(void **state) {
    (void)state;
    setenv("RUNGS_NVRTC", "/no/such/libnvrtc.so", 1);
    void *cubin = NULL;
    const Status status = apply_compile(places_project("examples/apply/running_mean.cu"), USERCODE_F64, "sm_90", 13, &cubin);
    unsetenv("RUNGS_NVRTC");
    assert_int_equal(status, STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_message(), "RUNGS_NVRTC"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_compile),
        cmocka_unit_test_setup_teardown(errors_show_the_users_lines, make_file, remove_file),
        cmocka_unit_test_setup_teardown(missing_functions_are_named, make_file, remove_file),
        cmocka_unit_test_setup_teardown(the_same_names_as_on_the_host, make_file, remove_file),
        cmocka_unit_test(a_missing_library_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
