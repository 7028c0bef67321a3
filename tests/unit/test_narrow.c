/* All 2^16 and 2^8 numbers of the types, their neighbours' midpoints, and rounding once. */
#include "base/narrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const NarrowForm FORMS[] = {{5, 10, false}, {8, 7, false}, {4, 3, true}, {5, 2, false}};
enum { COUNT = sizeof FORMS / sizeof *FORMS };
static const unsigned SIGNS[COUNT] = {0x8000, 0x8000, 0x80, 0x80}, NANS[COUNT] = {0x7c01, 0x7f81, 0x7f, 0x7d}; /* the first */

static bool is_nan(int f, unsigned bits) {
    return (bits & (SIGNS[f] - 1)) >= NANS[f];
}

static void every_number_comes_back(void **state) {
    (void)state;
    for (int f = 0; f < COUNT; f++)
        for (unsigned bits = 0; bits < 2 * SIGNS[f]; bits++) {
            const uint16_t again = narrow_bits(FORMS[f], narrow_value(FORMS[f], (uint16_t)bits));
            if (is_nan(f, bits) ? !is_nan(f, again) : again != bits) fail_msg("form %d: %04x became %04x", f, bits, again);
        }
}

/* Halfway to the next number the even one is nearest; a little to either side it is the nearer one. */
static void halves_go_to_even(void **state) {
    (void)state;
    for (int f = 0; f < COUNT; f++)
        for (unsigned bits = 0; bits + 1 < narrow_infinity(FORMS[f]); bits++) {
            const double low = narrow_value(FORMS[f], (uint16_t)bits), high = narrow_value(FORMS[f], (uint16_t)(bits + 1));
            const double half = (low + high) / 2; /* exact */
            assert_true(low < high);
            assert_int_equal(narrow_bits(FORMS[f], half), bits + (bits & 1));
            assert_int_equal(narrow_bits(FORMS[f], nextafter(half, low)), bits);
            assert_int_equal(narrow_bits(FORMS[f], nextafter(half, high)), bits + 1);
            assert_int_equal(narrow_bits(FORMS[f], -half), SIGNS[f] | (bits + (bits & 1)));
        }
}

static void the_ends_of_the_range(void **state) {
    (void)state;
    assert_true(narrow_value(FORMS[0], 0x7bff) == 65504);
    assert_int_equal(narrow_bits(FORMS[0], 65519.999), 0x7bff);
    assert_int_equal(narrow_bits(FORMS[0], 65520), 0x7c00);
    assert_int_equal(narrow_bits(FORMS[0], 1e300), 0x7c00);
    assert_int_equal(narrow_bits(FORMS[0], -1e300), 0xfc00);
    assert_int_equal(narrow_bits(FORMS[0], 0x1p-25), 0); /* half of the least: even */
    assert_int_equal(narrow_bits(FORMS[0], 0x1.8p-25), 1);
    assert_int_equal(narrow_bits(FORMS[0], 5e-324), 0);
    assert_int_equal(narrow_bits(FORMS[0], -0.0), 0x8000);
    assert_int_equal(narrow_bits(FORMS[1], 0x1.ffp127), 0x7f80); /* halfway between the largest and the next */
    assert_int_equal(narrow_bits(FORMS[1], 0x1.fefffffp127), 0x7f7f);
}

/* bf16 is the upper half of an f32. */
static void bf16_is_half_an_f32(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 1u << 16; bits++) {
        const uint32_t whole = bits << 16;
        float number;
        memcpy(&number, &whole, sizeof number);
        const double value = narrow_value(FORMS[1], (uint16_t)bits);
        assert_true(isnan(number) ? isnan(value) : value == (double)number && !signbit(value) == !signbit(number));
    }
}

/* OFP8 1.0, tables 1 and 2: e5m2 is the upper half of an f16. */
static void numbers_of_8_bits(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 1u << 8; bits++) {
        const double value = narrow_value(FORMS[3], (uint16_t)bits), wide = narrow_value(FORMS[0], (uint16_t)(bits << 8));
        assert_true(isnan(wide) ? isnan(value) : value == wide && !signbit(value) == !signbit(wide));
    }
    static const struct {
        unsigned bits;
        double value;
    } NAMED[] = {{0x7e, 448}, {0x08, 0x1p-6}, {0x07, 0.875 * 0x1p-6}, {0x01, 0x1p-9}, {0x00, 0}, {0x38, 1},
                 {0x78, 256}, {0xfe, -448}};
    for (size_t k = 0; k < sizeof NAMED / sizeof *NAMED; k++)
        assert_true(narrow_value(FORMS[2], (uint16_t)NAMED[k].bits) == NAMED[k].value);
    assert_int_equal(narrow_bits(FORMS[2], 464), 0x7e); /* halfway to what would be 480: even */
    assert_int_equal(narrow_bits(FORMS[2], 464.001), 0x7f);
    assert_int_equal(narrow_bits(FORMS[2], (double)-INFINITY), 0xff);
    assert_int_equal(narrow_bits(FORMS[3], 61439.9), 0x7b);
    assert_int_equal(narrow_bits(FORMS[3], 61440), 0x7c);
    assert_true(narrow_end(FORMS[2]) == 480 && narrow_largest(FORMS[2]) == 448 && narrow_largest(FORMS[3]) == 57344);
}

/* From f32, 1 + 2^-11 + 2^-24 is above the half; by way of a type in between it would be rounded twice, down. */
static void rounded_once(void **state) {
    (void)state;
    assert_int_equal(narrow_bits(FORMS[0], 1 + 0x1p-11), 0x3c00);
    assert_int_equal(narrow_bits(FORMS[0], 1 + 0x1p-11 + 0x1p-40), 0x3c01);
}

/* Within the range it is what narrow_bits() makes; beyond, the digits stay and the end tells. */
static void nearest_without_an_end(void **state) {
    (void)state;
    for (int f = 0; f < COUNT; f++) {
        const NarrowForm form = FORMS[f];
        for (unsigned bits = 0; bits + 1 < narrow_infinity(form); bits++)
            for (int k = 1; k < 4; k++) {
                const double low = narrow_value(form, (uint16_t)bits), high = narrow_value(form, (uint16_t)(bits + 1));
                const double x = low + (high - low) * k / 4;
                assert_true(narrow_nearest(form, x) == narrow_value(form, narrow_bits(form, x)));
                assert_true(narrow_nearest(form, -x) == -narrow_nearest(form, x));
            }
    }
    assert_true(narrow_nearest(FORMS[0], 65519) == 65504 && narrow_nearest(FORMS[0], 65520) == 65536);
    assert_true(narrow_nearest(FORMS[0], 70001) == 70016 && narrow_end(FORMS[0]) == 65536);
    assert_true(narrow_nearest(FORMS[1], 0x1.ffp127) == 0x1p128 && narrow_end(FORMS[1]) == 0x1p128);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_comes_back), cmocka_unit_test(halves_go_to_even), cmocka_unit_test(the_ends_of_the_range),
        cmocka_unit_test(bf16_is_half_an_f32),     cmocka_unit_test(rounded_once),      cmocka_unit_test(nearest_without_an_end),
        cmocka_unit_test(numbers_of_8_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
