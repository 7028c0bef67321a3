/* After an allocation for JSON has failed nothing is handed on: nobody knows what it lacks. */
#include "base/memory.h"
#include "device/child.h"
#include "record/row.h"

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

static off_t size_of(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 ? facts.st_size : -1;
}

static void nothing_is_handed_on(void **state) {
    (void)state;
    char path[] = "/tmp/rungs_test_starved_XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0 && close(descriptor) == 0);
    json_set_alloc_funcs(memory_allocate, free);
    json_t *row = json_pack("{s:s, s:i}", "kind", "ceilings", "schema", ROW_SCHEMA_VERSION), *rows = json_pack("[O]", row), *reply;
    RowFile *file;
    bool cut;
    const char *const argv[] = {"/bin/sh", "-c", "true", NULL};
    Child *child;
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_OK);
    assert_int_equal(rowfile_append(file, row), STATUS_OK);
    assert_int_equal(child_start(&(ChildOptions){.argv = argv}, &child), STATUS_OK);
    const off_t before = size_of(path);

    assert_int_equal(memory_check(), STATUS_OK);
    assert_null(memory_allocate(PTRDIFF_MAX));
    assert_int_equal(memory_check(), STATUS_MEMORY);
    assert_int_equal(rowfile_append(file, row), STATUS_MEMORY);
    assert_non_null(strstr(status_message(), path));
    assert_int_equal(rowfile_replace(path, rows), STATUS_MEMORY);
    assert_int_equal(child_ask(child, json_incref(row), 1, &reply), STATUS_MEMORY);
    assert_int_equal(size_of(path), before);
    child_stop(child);
    rowfile_close(file);
    json_decref(rows);
    json_decref(row);
    unlink(path);
}

static void *starve(size_t bytes) {
    (void)bytes;
    return memory_allocate(PTRDIFF_MAX);
}

/* A whole last line without its newline is no line that a crash cut off. */
static void what_cannot_be_read_is_not_cut_off(void **state) {
    (void)state;
    char path[] = "/tmp/rungs_test_starved_XXXXXX";
    static const char ROW[] = "{\"kind\":\"ceilings\",\"schema\":1}";
    const int descriptor = mkstemp(path);
    assert_int_equal(write(descriptor, ROW, strlen(ROW)), strlen(ROW));
    assert_int_equal(close(descriptor), 0);
    json_set_alloc_funcs(starve, free);
    RowFile *file;
    bool cut;
    assert_int_equal(rowfile_open(path, &file, &cut), STATUS_MEMORY);
    assert_non_null(strstr(status_message(), path));
    assert_int_equal(size_of(path), strlen(ROW));
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_handed_on),
                                       cmocka_unit_test(what_cannot_be_read_is_not_cut_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
