#include "record/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static int make_name(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/rungs-trace-XXXXXX");
    const int fd = mkstemp(path);
    return fd < 0 || close(fd) != 0 || unlink(path) != 0;
}

static int remove_file(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static json_t *events_of_a_call(void) {
    return json_pack("[{s:s, s:s, s:f, s:f, s:i}, {s:s, s:s, s:f, s:f, s:i, s:i}, {s:s, s:s, s:f, s:n, s:i}]", "kind", "range",
                     "name", "sizes", "begin", 0.0, "end", 9.5, "stream", 77, "kind", "kernel", "name", "sizes_kernel<int>",
                     "begin", 2.25, "end", 8.0, "stream", 13, "registers", 32, "kind", "range", "name", "left open", "begin", 9.0,
                     "end", "stream", 77);
}

static json_t *load(size_t expected) {
    json_t *trace = json_load_file(path, 0, NULL);
    assert_non_null(trace);
    assert_int_equal(json_array_size(json_object_get(trace, "traceEvents")), expected);
    return trace;
}

static const json_t *find(const json_t *trace, const char *name, int process) {
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
        if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0 &&
            json_integer_value(json_object_get(event, "pid")) == process)
            return event;
    }
    return NULL;
}

static void calls_are_processes(void **state) {
    (void)state;
    json_t *events = events_of_a_call();
    assert_int_equal(trace_append(path, "first call", events), STATUS_OK);
    json_decref(load(6)); /* the process, the ranges and one stream have names */
    assert_int_equal(trace_append(path, "second call", events), STATUS_OK);
    json_t *trace = load(12);
    const json_t *kernel = find(trace, "sizes_kernel<int>", 2), *range = find(trace, "sizes", 1),
                 *open = find(trace, "left open", 1);
    assert_non_null(kernel);
    assert_string_equal(json_string_value(json_object_get(kernel, "ph")), "X");
    assert_true(json_number_value(json_object_get(kernel, "ts")) == 2.25);
    assert_true(json_number_value(json_object_get(kernel, "dur")) == 5.75);
    assert_int_equal(json_integer_value(json_object_get(kernel, "tid")), 13);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(kernel, "args"), "registers")), 32);
    assert_int_equal(json_integer_value(json_object_get(range, "tid")), 0);
    assert_string_equal(json_string_value(json_object_get(open, "ph")), "B");
    assert_null(json_object_get(open, "dur"));
    const json_t *title = json_object_get(json_object_get(find(trace, "process_name", 2), "args"), "name");
    assert_string_equal(json_string_value(title), "second call");
    json_decref(trace);
    json_decref(events);
}

/* Also behind a symbolic link, which stays one. */
static void an_earlier_timeline_is_emptied(void **state) {
    (void)state;
    char link[80];
    struct stat facts;
    json_t *events = events_of_a_call();
    snprintf(link, sizeof link, "%s-link", path);
    assert_int_equal(trace_begin(path), STATUS_OK);
    assert_int_equal(trace_append(path, "a call", events), STATUS_OK);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(trace_begin(link), STATUS_OK);
    assert_true(stat(path, &facts) == 0 && facts.st_size == 0);
    assert_int_equal(trace_append(link, "a call", events), STATUS_OK);
    json_decref(load(6));
    assert_true(lstat(link, &facts) == 0 && S_ISLNK(facts.st_mode));
    unlink(link);
    json_decref(events);
}

static void other_files_are_left_alone(void **state) {
    (void)state;
    json_t *events = events_of_a_call();
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("n = 1\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(trace_append(path, "a call", events), STATUS_INVALID);
    assert_non_null(strstr(status_message(), path));
    assert_int_equal(trace_append("/nowhere/at/all.json", "a call", events), STATUS_INVALID);
    assert_int_equal(trace_begin("/nowhere/at/all.json"), STATUS_INVALID);
    assert_int_equal(trace_begin("/dev/null"), STATUS_INVALID);
    assert_int_equal(trace_begin(path), STATUS_INVALID);
    struct stat facts;
    assert_true(stat(path, &facts) == 0 && facts.st_size == 6);
    json_decref(events);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_are_processes, make_name, remove_file),
        cmocka_unit_test_setup_teardown(an_earlier_timeline_is_emptied, make_name, remove_file),
        cmocka_unit_test_setup_teardown(other_files_are_left_alone, make_name, remove_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
