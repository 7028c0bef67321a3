#define _GNU_SOURCE /* dladdr */
#include "base/toolkit.h"
#include "measure/counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a machine without CUPTI is told; a GPU is not asked for anything here. */

static Status never_called(void *context) {
    (void)context;
    return status_fail(STATUS_INTERNAL, "called");
}

static void assert_refused(Status status, const char *word) {
    assert_int_equal(status, STATUS_UNSUPPORTED);
#ifdef RUNGS_WITH_CUDA
    if (!strstr(status_message(), word) && !strstr(status_message(), "built without"))
        fail_msg("'%s' is not in: %s", word, status_message());
#else
    (void)word;
    assert_non_null(strstr(status_message(), "built without CUDA"));
#endif
}

static void a_missing_library_is_the_reason(void **state) {
    (void)state;
    const MeasuredWork work = {.run = never_called};
    const char *path = NULL;
    ActivityList list;
    ByteCounts bytes;
    setenv("RUNGS_CUPTI", "/nowhere/libcupti.so", 1);
    assert_refused(counts_library(&path), "/nowhere/libcupti.so");
    assert_null(path);
    assert_refused(counts_activity(&work, NULL, &list), "/nowhere/libcupti.so");
    assert_int_equal(list.count, 0);
    assert_refused(counts_bytes(&work, NULL, &bytes), "/nowhere/libcupti.so");
    assert_true(bytes.read + bytes.written + bytes.written_behind == 0);
    setenv("RUNGS_CUPTI", "", 1);
    assert_refused(counts_library(&path), "none wanted");
}

static void another_library_lacks_the_functions(void **state) {
    (void)state;
    const char *path = NULL;
    setenv("RUNGS_CUPTI", "libm.so.6", 1);
    assert_refused(counts_library(&path), "has no cuptiGetVersion");
}

static void toolkits_libraries_are_found_by_name(void **state) {
    (void)state;
    assert_null(toolkit_open("no_such_library_of_any_toolkit", 13));
    assert_null(toolkit_open("cudart", 1));
    char *folder = strdup("/tmp/rungs-toolkit-XXXXXX");
    assert_non_null(mkdtemp(folder));
    char lib64[64], probe[96];
    snprintf(lib64, sizeof lib64, "%s/lib64", folder);
    snprintf(probe, sizeof probe, "%s/librungs_probe.so.7.1", lib64);
    assert_int_equal(mkdir(lib64, 0777), 0);
    Dl_info math;
    assert_int_not_equal(dladdr(dlsym(dlopen("libm.so.6", RTLD_NOW), "cos"), &math), 0);
    assert_int_equal(symlink(math.dli_fname, probe), 0);
    setenv("CUDA_HOME", folder, 1);
    void *library = toolkit_open("rungs_probe", 7);
    assert_non_null(library);
    assert_non_null(dlsym(library, "cos"));
    assert_null(toolkit_open("rungs_probe", 8));
    assert_int_equal(unlink(probe), 0);
    assert_int_equal(rmdir(lib64), 0);
    assert_int_equal(rmdir(folder), 0);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_the_reason),
        cmocka_unit_test(another_library_lacks_the_functions),
        cmocka_unit_test(toolkits_libraries_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
