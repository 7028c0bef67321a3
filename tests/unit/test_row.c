#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "record/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char path[] = "/tmp/rungs_test_row_XXXXXX";

static int fresh_file(void **state) {
    (void)state;
    strcpy(path + sizeof path - 7, "XXXXXX");
    const int descriptor = mkstemp(path);
    if (descriptor < 0) return -1;
    return close(descriptor);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void put(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *text) {
    char found[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    found[length] = '\0';
    assert_string_equal(found, text);
}

static void append(RowFile *file, const char *text) {
    json_t *row = json_loads(text, 0, NULL);
    assert_non_null(row);
    assert_int_equal(rowfile_append(file, row), STATUS_OK);
    json_decref(row);
}

static void rows_survive_reopening(void **state) {
    (void)state;
    RowFile *file;
    bool cut = true;
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_OK);
    assert_false(cut);
    append(file, "{\"kind\": \"ceilings\", \"schema\": 1, \"value\": 0.1}");
    expect_file("{\"kind\":\"ceilings\",\"schema\":1,\"value\":0.10000000000000001}\n"); /* before closing: a crash loses nothing */
    rowfile_close(file);
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_OK);
    assert_false(cut);
    append(file, "{\"kind\": \"ceilings\", \"schema\": 1, \"reason\": \"two\\nlines\"}");
    rowfile_close(file);
    json_t *rows;
    assert_int_equal(rowfile_read(path, &rows), STATUS_OK);
    assert_int_equal(json_array_size(rows), 2);
    assert_true(json_real_value(json_object_get(json_array_get(rows, 0), "value")) == 0.1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 1), "reason")), "two\nlines");
    json_decref(rows);
}

#define HEAD "{\"kind\":\"ceilings\",\"schema\":1"

static void expect_dropped(const char *text, const char *kept) {
    RowFile *file;
    bool cut;
    put(text);
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_OK);
    assert_true(cut);
    rowfile_close(file);
    expect_file(kept);
}

static void a_cut_last_line_is_dropped(void **state) {
    (void)state;
    expect_dropped(HEAD "}\n" HEAD ",\"a\":2}\n" HEAD ",\"a\":", HEAD "}\n" HEAD ",\"a\":2}\n");
    expect_dropped("{\"kind\": \"envir", ""); /* killed while it wrote the first line */
    expect_dropped("{", "");
}

static void a_whole_last_line_without_a_newline_is_kept(void **state) {
    (void)state;
    RowFile *file;
    bool cut;
    put(HEAD ",\"a\":1}\n" HEAD ",\"a\":2}");
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_OK);
    assert_false(cut);
    append(file, HEAD "}");
    rowfile_close(file);
    expect_file(HEAD ",\"a\":1}\n" HEAD ",\"a\":2}\n" HEAD "}\n");
}

static void a_cut_line_longer_than_a_block_is_dropped(void **state) {
    (void)state;
    RowFile *file;
    bool cut;
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fputs(HEAD "}\n" HEAD ",\"reason\":\"", out);
    for (int i = 0; i < 100000; i++) fputc('x', out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_OK);
    assert_true(cut);
    rowfile_close(file);
    expect_file(HEAD "}\n");
}

static void a_full_device_is_an_error_that_names_it(void **state) {
    (void)state;
    RowFile *file;
    bool cut;
    assert_int_equal(rowfile_open("/dev/full", &file, &cut), STATUS_OK);
    json_t *row = json_pack("{s:i}", "a", 1);
    assert_int_equal(rowfile_append(file, row), STATUS_IO);
    assert_non_null(strstr(status_message(), "/dev/full"));
    assert_non_null(strstr(status_message(), strerror(ENOSPC)));
    json_decref(row);
    rowfile_close(file);
}

/* The limit stops the write in the middle of the second row, as a disk does that fills up. */
static void a_disk_that_fills_up_leaves_whole_lines(void **state) {
    (void)state;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 20;
    signal(SIGXFSZ, SIG_IGN);
    RowFile *file;
    bool cut;
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_OK);
    append(file, "{\"a\": 1}");
    json_t *row = json_pack("{s:s}", "a", "longer than what is left");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const Status status = rowfile_append(file, row);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(status_message(), path));
    expect_file("{\"a\":1}\n");
    append(file, "{\"a\": 2}"); /* there is room again */
    expect_file("{\"a\":1}\n{\"a\":2}\n");
    json_decref(row);
    rowfile_close(file);
}

static void a_second_writer_is_refused(void **state) {
    (void)state;
    RowFile *first, *second;
    bool cut;
    assert_int_equal(rowfile_open(path, &first, &cut), STATUS_OK);
    assert_int_equal(rowfile_open(path, &second, &cut), STATUS_IO);
    assert_null(second);
    assert_non_null(strstr(status_message(), path));
    rowfile_close(first);
    assert_int_equal(rowfile_open(path, &second, &cut), STATUS_OK);
    rowfile_close(second);
    assert_int_equal(rowfile_open("/dev/null", &first, &cut), STATUS_OK); /* devices have no lines that could be cut */
    assert_int_equal(rowfile_open("/dev/null", &second, &cut), STATUS_OK);
    rowfile_close(first);
    rowfile_close(second);
}

/* What is not ours, and what nobody could read with more rows behind it. */
static void other_files_are_left_alone(void **state) {
    (void)state;
    static const char *const TEXTS[][2] = {
        {"my notes, without a newline at the end", "1:"},
        {"{\"name\": \"a foreign file\", \"version\": 2}", "1:"}, /* one line of JSON */
        {"{\"name\": \"cut", "1:"},
        {"{\n  \"kind\": \"row\"\n}\n", "1:"},
        {HEAD "}\n{damaged}\n" HEAD "}\n", "2:"},
        {HEAD "}\nnotes", "2:"},
        {"{\"kind\":\"row\",\"schema\":2}\n", "schema is 2"},
        {"{\"kind\":\"row\"}\n", "'schema' is missing"},
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        RowFile *file;
        bool cut;
        put(TEXTS[i][0]);
        assert_int_equal(rowfile_open(path, &file, &cut), STATUS_INVALID);
        assert_non_null(strstr(status_message(), path));
        assert_non_null(strstr(status_message(), TEXTS[i][1]));
        expect_file(TEXTS[i][0]);
    }
}

static void expect_unreadable(const char *text, const char *where, const char *what) {
    char place[128];
    json_t *rows;
    put(text);
    assert_int_equal(rowfile_read(path, &rows), STATUS_INVALID);
    assert_null(rows);
    snprintf(place, sizeof place, "%s:%s", path, where);
    assert_non_null(strstr(status_message(), place));
    assert_non_null(strstr(status_message(), what));
}

static void unreadable_lines_name_file_and_line(void **state) {
    (void)state;
    expect_unreadable(HEAD "}\n\n{\"a\":nan}\n", "3:", "not JSON");
    expect_unreadable(HEAD "}\n{\"a\":1,\"a\":2}\n", "2:", "duplicate");
    expect_unreadable("[1]\n", "1: [1]; expected", "object");
    expect_unreadable(HEAD "}\n" HEAD ",\"a\":", "2:", "cut off");
    expect_unreadable("{\"kind\":\"row\",\"schema\":2}\n", "1:", "schema is 2");
}

static bool no_memory_for_patterns;

/* Instead of the C library's, for all of this program. What glibc answers without memory: no match, and errno. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvla-parameter" /* its header gives the array's length */
int regexec(const regex_t *compiled, const char *text, size_t count, regmatch_t *found, int flags) {
    typedef int Function(const regex_t *, const char *, size_t, regmatch_t *, int);
    static Function *next;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "regexec");
    if (!no_memory_for_patterns) return next(compiled, text, count, found, flags);
    errno = ENOMEM;
    return REG_NOMATCH;
}
#pragma GCC diagnostic pop

static void a_good_line_is_not_refused_for_want_of_memory(void **state) {
    (void)state;
    json_t *rows = NULL;
    put("{\"kind\":\"environment\",\"schema\":1,\"run\":\"a\",\"commit\":\"0123456\"}\n");
    no_memory_for_patterns = true;
    const Status status = rowfile_read(path, &rows);
    no_memory_for_patterns = false;
    assert_int_equal(status, STATUS_OK);
    json_decref(rows);
}

static void a_missing_file_or_folder_is_named(void **state) {
    (void)state;
    json_t *rows;
    RowFile *file;
    bool cut;
    assert_int_equal(rowfile_read("/nowhere/rows.jsonl", &rows), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "/nowhere/rows.jsonl"));
    assert_int_equal(rowfile_open("/nowhere/rows.jsonl", &file, &cut), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "/nowhere/rows.jsonl"));
    assert_int_equal(rowfile_open("/tmp", &file, &cut), STATUS_INVALID);
}

static void what_json_lacks_becomes_null(void **state) {
    (void)state;
    json_t *values[] = {json_number_or_null(NAN), json_number_or_null(INFINITY), json_number_or_null(-INFINITY),
                        json_number_or_null(0.5)};
    for (int i = 0; i < 3; i++) assert_true(json_is_null(values[i]));
    assert_true(json_real_value(values[3]) == 0.5);
    json_decref(values[3]);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, fresh_file, remove_file)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FILE(rows_survive_reopening),
        WITH_FILE(a_cut_last_line_is_dropped),
        WITH_FILE(a_cut_line_longer_than_a_block_is_dropped),
        WITH_FILE(a_full_device_is_an_error_that_names_it),
        WITH_FILE(a_disk_that_fills_up_leaves_whole_lines),
        WITH_FILE(a_second_writer_is_refused),
        WITH_FILE(a_whole_last_line_without_a_newline_is_kept),
        WITH_FILE(other_files_are_left_alone),
        WITH_FILE(unreadable_lines_name_file_and_line),
        WITH_FILE(a_good_line_is_not_refused_for_want_of_memory),
        cmocka_unit_test(a_missing_file_or_folder_is_named),
        cmocka_unit_test(what_json_lacks_becomes_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
