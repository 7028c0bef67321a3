#include "record/identity.h"

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

static char folder[] = "/tmp/rungs_test_identity_XXXXXX";

/* The vectors of the paper's reference implementation: key 00 01 .. 0f, data 00 01 .. */
static void the_hash_is_siphash(void **state) {
    (void)state;
    unsigned char key[IDENTITY_KEY_BYTES], data[15];
    for (int i = 0; i < IDENTITY_KEY_BYTES; i++) key[i] = (unsigned char)i;
    for (int i = 0; i < 15; i++) data[i] = (unsigned char)i;
    assert_true(identity_hash(key, data, 0) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(identity_hash(key, data, 8) == UINT64_C(0x93f5f5799a932462));
    assert_true(identity_hash(key, data, 15) == UINT64_C(0xa129ca6149be45e5));
}

static void expect_hidden(const char *text, const char *expected) {
    json_t *hidden = facts_without_folders(text);
    assert_string_equal(json_string_value(hidden), expected);
    json_decref(hidden);
}

static void one_device_has_one_name_in_an_installation(void **state) {
    (void)state;
    char state_folder[80], key[128], text[128];
    struct stat facts;
    snprintf(state_folder, sizeof state_folder, "%s/state", folder);
    snprintf(key, sizeof key, "%s/rungs/salt", state_folder);
    setenv("XDG_STATE_HOME", state_folder, 1);
    json_t *one = identity_hidden("GPU-1"), *again = identity_hidden("GPU-1"), *other = identity_hidden("GPU-2");
    assert_string_equal(json_string_value(one), json_string_value(again));
    assert_string_not_equal(json_string_value(one), json_string_value(other));
    assert_true(stat(key, &facts) == 0 && facts.st_size == IDENTITY_KEY_BYTES && (facts.st_mode & 077) == 0);

    json_t *known = identity_hidden("GPU-8932f937-d72c");
    snprintf(text, sizeof text, "%s,1; GPU-accelerated MIG- GPU-zero", json_string_value(known));
    expect_hidden("GPU-8932f937-d72c,1; GPU-accelerated MIG- GPU-zero", text);

    assert_int_equal(unlink(key), 0); /* another installation */
    json_t *elsewhere = identity_hidden("GPU-1");
    assert_string_not_equal(json_string_value(one), json_string_value(elsewhere));
    json_t *all[] = {one, again, other, known, elsewhere};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) json_decref(all[i]);
    unlink(key);
    *strrchr(key, '/') = '\0';
    rmdir(key);
    rmdir(state_folder);
}

static void without_a_key_nothing_is_told(void **state) {
    (void)state;
    setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
    json_t *hidden = identity_hidden("GPU-1");
    assert_true(json_is_null(hidden));
    expect_hidden("GPU-8932f937 is busy", "hidden is busy");
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_siphash),
        cmocka_unit_test(one_device_has_one_name_in_an_installation),
        cmocka_unit_test(without_a_key_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
