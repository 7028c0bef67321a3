/* All 2^16 numbers of both types, their neighbours' midpoints, and rounding once. */
#include "base/narrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const NarrowForm FORMS[] = {{5, 10}, {8, 7}};

static bool is_nan(NarrowForm form, unsigned bits) {
    return (bits & 0x7fff) > narrow_infinity(form);
}

static void every_number_comes_back(void **state) {
    (void)state;
    for (int f = 0; f < 2; f++)
        for (unsigned bits = 0; bits < 1u << 16; bits++) {
            const uint16_t again = narrow_bits(FORMS[f], narrow_value(FORMS[f], (uint16_t)bits));
            if (is_nan(FORMS[f], bits) ? !is_nan(FORMS[f], again) : again != bits)
                fail_msg("form %d: %04x became %04x", f, bits, again);
        }
}

/* Halfway to the next number the even one is nearest; a little to either side it is the nearer one. */
static void halves_go_to_even(void **state) {
    (void)state;
    for (int f = 0; f < 2; f++)
        for (unsigned bits = 0; bits + 1 < narrow_infinity(FORMS[f]); bits++) {
            const double low = narrow_value(FORMS[f], (uint16_t)bits), high = narrow_value(FORMS[f], (uint16_t)(bits + 1));
            const double half = (low + high) / 2; /* exact */
            assert_true(low < high);
            assert_int_equal(narrow_bits(FORMS[f], half), bits + (bits & 1));
            assert_int_equal(narrow_bits(FORMS[f], nextafter(half, low)), bits);
            assert_int_equal(narrow_bits(FORMS[f], nextafter(half, high)), bits + 1);
            assert_int_equal(narrow_bits(FORMS[f], -half), 0x8000 | (bits + (bits & 1)));
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

/* From f32, 1 + 2^-11 + 2^-24 is above the half; by way of a type in between it would be rounded twice, down. */
static void rounded_once(void **state) {
    (void)state;
    assert_int_equal(narrow_bits(FORMS[0], 1 + 0x1p-11), 0x3c00);
    assert_int_equal(narrow_bits(FORMS[0], 1 + 0x1p-11 + 0x1p-40), 0x3c01);
}

/* Within the range it is what narrow_bits() makes; beyond, the digits stay and the end tells. */
static void nearest_without_an_end(void **state) {
    (void)state;
    for (int f = 0; f < 2; f++) {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
