#include "verify/exact.h"

#include "base/poison.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static Array of(const char *name, DType dtype, size_t n, const void *data) {
    Array array = array_1d(name, dtype, n);
    array.data = (void *)(uintptr_t)data;
    return array;
}

static void equal_bytes_pass(void **state) {
    (void)state;
    const int64_t a[] = {1, -2, INT64_MAX};
    ExactReport r;
    const Array x = of("y", DTYPE_I64, 3, a);
    exact_compare(&x, &x, POISON_BYTE, &r);
    assert_true(r.pass);
    assert_int_equal(r.count, 3);
    assert_int_equal(r.mismatches, 0);
    const Array none = of("y", DTYPE_U8, 0, NULL);
    exact_compare(&none, &none, POISON_BYTE, &r);
    assert_true(r.pass);
    char text[64] = "?";
    assert_string_equal(exact_explain(&r, &none, &none, 1, 0, text, sizeof text), "");
}

static void every_mismatch_is_counted_and_the_first_is_told(void **state) {
    (void)state;
    enum { N = 5000003 }; /* several chunks, the last one short */
    unsigned char *a = malloc(N), *b = malloc(N);
    assert_non_null(a);
    assert_non_null(b);
    for (size_t i = 0; i < N; i++) a[i] = b[i] = (unsigned char)(i * 7);
    const size_t wrong[] = {4999999, 1048576, 1048575, 5000002, 3000000};
    for (size_t k = 0; k < 5; k++) b[wrong[k]] ^= 0x80;
    b[3000000] = POISON_BYTE;
    assert_int_not_equal(a[3000000], POISON_BYTE);
    const Array actual = of("y", DTYPE_U8, N, b), expected = of("y", DTYPE_U8, N, a);
    ExactReport r;
    exact_compare(&actual, &expected, POISON_BYTE, &r);
    assert_false(r.pass);
    assert_int_equal(r.mismatches, 5);
    assert_int_equal(r.first_mismatch, 1048575);
    assert_int_equal(r.unwritten, 1);
    assert_int_equal(r.first_unwritten, 3000000);
    free(a);
    free(b);
}

static void poison_that_belongs_there_is_right(void **state) {
    (void)state;
    const unsigned char a[] = {POISON_BYTE, 1};
    ExactReport r;
    const Array x = of("y", DTYPE_U8, 2, a);
    exact_compare(&x, &x, POISON_BYTE, &r);
    assert_true(r.pass);
    assert_int_equal(r.unwritten, 0);
}

static void sizes_count(void **state) {
    (void)state;
    const int32_t a[] = {1, 2, 3, 4}, b[] = {1, 9, 3, 4};
    const Array four = of("y", DTYPE_I32, 4, a), two = of("y", DTYPE_I32, 2, a), wrong = of("y", DTYPE_I32, 4, b),
                none = of("y", DTYPE_I32, 0, NULL), wide = of("y", DTYPE_I64, 2, a);
    ExactReport r;
    exact_compare(&two, &four, POISON_BYTE, &r);
    assert_false(r.pass);
    assert_int_equal(r.mismatches, 2);
    assert_int_equal(r.first_mismatch, 2);
    exact_compare(&wrong, &two, POISON_BYTE, &r);
    assert_false(r.pass);
    assert_int_equal(r.mismatches, 3);
    assert_int_equal(r.first_mismatch, 1);
    exact_compare(&none, &four, POISON_BYTE, &r);
    assert_false(r.pass);
    assert_int_equal(r.first_mismatch, 0);
    exact_compare(&two, &two, POISON_BYTE, &r);
    assert_true(r.pass);
    exact_compare(&wide, &wide, POISON_BYTE, &r);
    assert_true(r.pass);
}

/* Rows "Ab", null, "", "x\"y", "caf\xc3\xa9". */
static const int32_t OFFSETS[] = {0, 2, 2, 2, 5, 10};
static const unsigned char CHARS[] = "Abx\"ycaf\xc3\xa9";
static const unsigned char VALIDITY[] = {0x1d};

static char *explain(const int32_t *offsets, size_t chars, const void *text, const unsigned char *validity, int index,
                     char *words) {
    const Array expected[] = {of("s.offsets", DTYPE_I32, 6, OFFSETS), of("s.chars", DTYPE_U8, 10, CHARS),
                              of("s.validity", DTYPE_U8, 1, VALIDITY)};
    const Array actual[] = {of("s.offsets", DTYPE_I32, 6, offsets), of("s.chars", DTYPE_U8, chars, text),
                            of("s.validity", DTYPE_U8, 1, validity)};
    ExactReport r;
    exact_compare(&actual[index], &expected[index], POISON_BYTE, &r);
    assert_false(r.pass);
    return exact_explain(&r, actual, expected, 3, index, words, 512);
}

static void rows_of_strings_are_quoted(void **state) {
    (void)state;
    char words[512];
    assert_string_equal(
        explain(OFFSETS, 10, "Abx\"ycaF\xc3\xa9", VALIDITY, 1, words),
        "s.chars[7] is 0x46, expected 0x66; row 4 is \"caF\\xc3\\xa9\", expected \"caf\\xc3\\xa9\"; 1 of 10 elements "
        "differ");
    assert_string_equal(explain(OFFSETS, 10, "Abx_ycaf\xc3\xa9", VALIDITY, 1, words),
                        "s.chars[3] is 0x5f, expected 0x22; row 3 is \"x_y\", expected \"x\\\"y\"; 1 of 10 elements differ");
    const int32_t early[] = {0, 2, 2, 2, 4, 10};
    assert_string_equal(explain(early, 10, CHARS, VALIDITY, 0, words),
                        "s.offsets[4] is 4, expected 5; row 3 is \"x\\\"\", expected \"x\\\"y\"; 1 of 6 elements differ");
    const unsigned char valid[] = {0x1f};
    assert_string_equal(explain(OFFSETS, 10, CHARS, valid, 2, words),
                        "s.validity[0] is 0x1f, expected 0x1d; row 1 is \"\", expected null; 1 of 1 elements differ");
    const unsigned char padding[] = {0x9d};
    assert_string_equal(explain(OFFSETS, 10, CHARS, padding, 2, words),
                        "s.validity[0] is 0x9d, expected 0x1d; 1 of 1 elements differ");
    assert_string_equal(
        explain(OFFSETS, 8, CHARS, VALIDITY, 1, words),
        "s.chars has 8 elements, expected 10; row 4 is outside its character buffer, expected \"caf\\xc3\\xa9\"; 2 of 10 "
        "elements differ");
}

static void nonsense_in_offsets_is_survived(void **state) {
    (void)state;
    static const int32_t NONSENSE[][6] = {{0, 2, 2, 2, -5, 10},
                                          {0, 2, 2, INT32_MAX, 5, 10},
                                          {INT32_MIN, 2, 2, 2, 5, 10},
                                          {0, 2, 2, 2, 5, INT32_MAX},
                                          {10, 9, 8, 7, 6, 5}};
    char words[512];
    for (size_t i = 0; i < sizeof NONSENSE / sizeof *NONSENSE; i++) {
        explain(NONSENSE[i], 10, CHARS, VALIDITY, 0, words);
        assert_non_null(strstr(words, "s.offsets["));
        explain(NONSENSE[i], 10, "-bx\"ycaf\xc3\xa9", VALIDITY, 1, words);
        assert_non_null(strstr(words, "row 0 is "));
    }
}

static void long_rows_are_cut_around_the_difference(void **state) {
    (void)state;
    enum { N = 100000 };
    char *a = malloc(N), *b = malloc(N), words[512];
    assert_non_null(a);
    assert_non_null(b);
    memset(a, 'a', N);
    memset(b, 'a', N);
    b[50000] = 'B';
    const int64_t offsets[] = {0, N};
    const Array expected[] = {of("s.offsets", DTYPE_I64, 2, offsets), of("s.chars", DTYPE_U8, N, a)};
    const Array actual[] = {of("s.offsets", DTYPE_I64, 2, offsets), of("s.chars", DTYPE_U8, N, b)};
    ExactReport r;
    exact_compare(&actual[1], &expected[1], POISON_BYTE, &r);
    exact_explain(&r, actual, expected, 2, 1, words, sizeof words);
    assert_non_null(
        strstr(words, "row 0 is ...\"aaaaaaaaaaaaaaaaBaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"..., expected ...\"aaaaaaaaaaaaaaaaaaaaa"));
    assert_true(strlen(words) < 300);
    char small[24];
    exact_explain(&r, actual, expected, 2, 1, small, sizeof small);
    assert_int_equal(strlen(small), sizeof small - 1);
    free(a);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_pass),
        cmocka_unit_test(every_mismatch_is_counted_and_the_first_is_told),
        cmocka_unit_test(poison_that_belongs_there_is_right),
        cmocka_unit_test(sizes_count),
        cmocka_unit_test(rows_of_strings_are_quoted),
        cmocka_unit_test(nonsense_in_offsets_is_survived),
        cmocka_unit_test(long_rows_are_cut_around_the_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
