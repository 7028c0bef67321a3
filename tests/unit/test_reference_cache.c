/* A cached reference is used for exactly what it was computed from, and only if it is whole. */
/* needs: double */
#include "pipeline/session.h"

#include "plan/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1000, BYTES_MAX = 1 << 16 };

static char folder[] = "/tmp/rungs-test-cache-XXXXXX";
static double x[N], value[N], tolerance[N];
static Array in, out;

static void save(const char *text, double seconds) {
    for (int i = 0; i < N; i++) value[i] = 2 * x[i], tolerance[i] = i;
    Reference reference = {value, tolerance};
    referencecache_save(text, registry_op("double"), 0, &in, &out, &reference, seconds);
}

/* Does it give back what was saved? */
static bool load(const char *text, int bound) {
    static double got_value[N], got_tolerance[N];
    Reference reference = {got_value, got_tolerance};
    memset(got_value, 0xff, sizeof got_value);
    if (!referencecache_load(text, registry_op("double"), bound, &in, &out, &reference)) return false;
    for (int i = 0; i < N; i++) assert_true(got_value[i] == 2 * x[i] && got_tolerance[i] == i);
    return true;
}

/* The path of the one entry; NULL if there is none. */
static const char *entry(void) {
    static char path[400];
    DIR *directory = opendir(folder);
    int count = 0;
    for (struct dirent *file; directory && (file = readdir(directory));)
        if (file->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s", folder, file->d_name), count++;
    if (directory) closedir(directory);
    assert_true(count <= 1);
    return count ? path : NULL;
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder) || setenv("RUNGS_CACHE", folder, 1) != 0) return 1;
    for (int i = 0; i < N; i++) x[i] = i + 0.5;
    in = array_1d("x", DTYPE_F64, N);
    in.data = x;
    out = array_1d("y", DTYPE_F64, N);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (entry()) unlink(entry());
    return rmdir(folder);
}

static void what_took_long_is_kept(void **state) {
    (void)state;
    save("quick", 0.1);
    assert_null(entry());
    save("slow", 10);
    assert_non_null(entry());
    assert_true(load("slow", 0));
    assert_false(load("other", 0));
    assert_false(load("slow", 1));
}

static void other_inputs_are_noticed(void **state) {
    (void)state;
    save("slow", 10);
    x[N - 1] += 1;
    assert_false(load("slow", 0));
    x[N - 1] -= 1;
    assert_null(entry()); /* whoever wrote it: it is gone */
    assert_false(load("slow", 0));
}

/* Eight bytes anywhere, head included; and a file that is cut. */
static void damage_is_noticed(void **state) {
    (void)state;
    static unsigned char whole[BYTES_MAX];
    save("slow", 10);
    FILE *file = fopen(entry(), "rb");
    assert_non_null(file);
    const size_t bytes = fread(whole, 1, sizeof whole, file);
    fclose(file);
    assert_true(bytes > 2 * N * sizeof(double) && bytes < BYTES_MAX);
    for (size_t at = 0; at <= bytes; at += at < 64 ? 8 : 808) {
        save("slow", 10);
        file = fopen(entry(), "r+b");
        assert_non_null(file);
        for (size_t i = at; i < at + 8 && i < bytes; i++) {
            fseek(file, (long)i, SEEK_SET);
            fputc(whole[i] ^ 0x10, file);
        }
        if (at + 8 > bytes) assert_int_equal(ftruncate(fileno(file), (off_t)bytes - 8), 0);
        fclose(file);
        if (load("slow", 0)) fail_msg("eight bytes changed at %zu of %zu", at, bytes);
        assert_null(entry());
    }
    save("slow", 10);
    assert_true(load("slow", 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_took_long_is_kept),
        cmocka_unit_test(other_inputs_are_noticed),
        cmocka_unit_test(damage_is_noticed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
