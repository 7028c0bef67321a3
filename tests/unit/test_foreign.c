/* The cases of tests/golden/foreign.json, which tests/scripts/test_foreign.py reads, too. */
#include "base/foreign.h"
#include "base/places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>

static const char *text_in(const json_t *cases, const char *key) {
    return json_string_value(json_object_get(cases, key));
}

static void the_table(void **state) {
    (void)state;
    json_t *cases = json_load_file(places_project("tests/golden/foreign.json"), 0, NULL), *one;
    size_t i;
    assert_true(json_array_size(cases) > 15);
    json_array_foreach(cases, i, one) {
        char out[400];
        foreign_text(text_in(one, "text"), true, out, sizeof out);
        assert_string_equal(out, text_in(one, "lines"));
        foreign_text(text_in(one, "text"), false, out, sizeof out);
        assert_string_equal(out, text_in(one, "terminal"));
        assert_string_equal(foreign_shown(text_in(one, "text")), text_in(one, "terminal"));
    }
    json_decref(cases);
}

static void what_is_no_utf8_and_what_is_long(void **state) {
    (void)state;
    char out[8];
    foreign_text("\x9b\xff"
                 "a",
                 false, out, sizeof out); /* a lone byte is no control character of Latin-1 either */
    assert_string_equal(out, "\\x9b\xff"
                             "a");
    foreign_text("abcdef\x1b[31m", false, out, sizeof out);
    assert_string_equal(out, "abcdef"); /* never half of a spelled letter */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table), cmocka_unit_test(what_is_no_utf8_and_what_is_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
