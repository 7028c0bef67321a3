#include "base/foreign.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void globs_match_the_whole_text(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool match;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"?", "", false},
        {"?", "a", true},
        {"a*", "abc", true},
        {"a*", "ba", false},
        {"*c", "abc", true},
        {"*c", "abcd", false},
        {"a*c", "abcbc", true},
        {"a*b*c", "aXbYc", true},
        {"a*b*c", "aXcYb", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"**a**", "a", true},
        {"*ab", "aab", true},
        {"*a?b", "aaxab", false},
        {"cuda_*", "cuda_", true},
        {"cuda_*", "cud", false},
        {"*/cpu_*", "a/cpu_b", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (text_glob(cases[i].pattern, cases[i].text) != cases[i].match) fail_msg("'%s' on '%s'", cases[i].pattern, cases[i].text);
}

/* A matcher that tries every way of sharing the text among the stars would not come back from this one. */
static void many_stars_are_not_exponential(void **state) {
    (void)state;
    char pattern[129], text[257];
    for (int i = 0; i < 128; i++) pattern[i] = i % 2 ? 'a' : '*';
    pattern[127] = 'b';
    pattern[128] = '\0';
    memset(text, 'a', 256);
    text[256] = '\0';
    assert_false(text_glob(pattern, text));
    text[255] = 'b';
    assert_true(text_glob(pattern, text));
}

static void nearest_is_what_was_meant_or_nothing(void **state) {
    (void)state;
    static const char *const words[] = {"window", "seed", "input"};
    assert_string_equal(text_nearest("widnow", words, 3), "window");
    assert_string_equal(text_nearest("inptu", words, 3), "input");
    assert_null(text_nearest("aggregate", words, 3));
    assert_null(text_nearest("x", words, 0));
}

static void utf8(void **state) {
    (void)state;
    const struct {
        const char *text, *becomes;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xbc \xe2\x82\xac \xf0\x9f\x99\x82", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x99\x82"},
        {"\xff"
         "a\xfe",
         "?a?"},
        {"cut \xe2\x82", "cut ??"},       /* within a character */
        {"\xc0\xaf", "??"},               /* not the shortest form */
        {"\xe0\x9f\xbf", "???"},          /* likewise */
        {"\xed\xa0\x80", "???"},          /* a surrogate */
        {"\xf4\x90\x80\x80 x", "???? x"}, /* beyond U+10FFFF */
        {"\x80", "?"},                    /* no lead byte */
        {"\xc3"
         "a",
         "?a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i].text);
        foreign_make_utf8(text);
        assert_string_equal(text, cases[i].becomes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match_the_whole_text),
        cmocka_unit_test(many_stars_are_not_exponential),
        cmocka_unit_test(nearest_is_what_was_meant_or_nothing),
        cmocka_unit_test(utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
