/* Double-double arithmetic against MPFR with 320 bits. */
#include "../../reference/dd.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpfr.h>

enum { BITS = 320, ROUNDS = 20000 };

static mpfr_t expected, actual, difference, left, right;

static double draw(uint64_t index, int spread) {
    const double magnitude = ldexp(1 + rng_uniform(1, index), (int)(rng_at(2, index) % (2 * (unsigned)spread + 1)) - spread);
    return rng_at(3, index) & 1 ? -magnitude : magnitude;
}

static Dd draw_dd(uint64_t index, int spread) {
    const double hi = draw(index, spread);
    return dd_fast_two_sum(hi, hi * (rng_uniform(4, index) - 0.5) * 0x1p-52);
}

static void set(mpfr_t out, Dd value) {
    mpfr_set_d(out, value.hi, MPFR_RNDN);
    mpfr_add_d(out, out, value.lo, MPFR_RNDN);
}

/* |got - expected| <= limit * u^2 * |expected| */
static void check(const char *what, uint64_t round, Dd got, double limit) {
    set(actual, got);
    mpfr_sub(difference, actual, expected, MPFR_RNDN);
    const double error = fabs(mpfr_get_d(difference, MPFR_RNDN)), size = fabs(mpfr_get_d(expected, MPFR_RNDN));
    if (!(error <= limit * 0x1p-106 * size))
        fail_msg("%s, round %llu: error %a of %a", what, (unsigned long long)round, error, size);
    if (!(fabs(got.lo) <= 0x1p-52 * fabs(got.hi))) fail_msg("%s, round %llu: not normalised", what, (unsigned long long)round);
}

static void sums_and_products_of_doubles_are_exact(void **state) {
    (void)state;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const double a = draw(2 * i, 60), b = draw(2 * i + 1, 60);
        mpfr_set_d(expected, a, MPFR_RNDN);
        mpfr_add_d(expected, expected, b, MPFR_RNDN);
        set(actual, dd_two_sum(a, b));
        assert_true(mpfr_equal_p(actual, expected));
        mpfr_set_d(expected, a, MPFR_RNDN);
        mpfr_mul_d(expected, expected, b, MPFR_RNDN);
        set(actual, dd_two_prod(a, b));
        assert_true(mpfr_equal_p(actual, expected));
    }
    assert_true(dd_two_sum(1e16, 1).lo == 1 && dd_two_sum(1e16, 1).hi == 1e16);
    assert_true(dd_two_prod(0x1p27 + 1, 0x1p27 + 1).lo == 1);
}

static void operations_keep_their_promises(void **state) {
    (void)state;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const int spread = i % 2 ? 1 : 100; /* near each other: cancellation */
        const Dd a = draw_dd(3 * i, spread), b = draw_dd(3 * i + 1, spread);
        const double c = draw(3 * i + 2, spread);
        set(left, a);
        set(right, b);
        mpfr_add(expected, left, right, MPFR_RNDN);
        check("add", i, dd_add(a, b), 4);
        mpfr_sub(expected, left, right, MPFR_RNDN);
        check("subtract", i, dd_subtract(a, b), 4);
        mpfr_add_d(expected, left, c, MPFR_RNDN);
        check("add double", i, dd_add_double(a, c), 3);
        mpfr_mul(expected, left, right, MPFR_RNDN);
        check("multiply", i, dd_multiply(a, b), 10);
        mpfr_mul_d(expected, left, c, MPFR_RNDN);
        check("multiply double", i, dd_multiply_double(a, c), 6);
        mpfr_div(expected, left, right, MPFR_RNDN);
        check("divide", i, dd_divide(a, b), 16);
        mpfr_abs(left, left, MPFR_RNDN);
        mpfr_sqrt(expected, left, MPFR_RNDN);
        check("sqrt", i, dd_sqrt(a.hi < 0 ? dd_negate(a) : a), 8);
    }
}

static void hand_computed(void **state) {
    (void)state;
    const Dd third = dd_divide(dd_from(1), dd_from(3));
    assert_true(third.hi == 0x1.5555555555555p-2 && third.lo == 0x1.5555555555555p-56);
    const Dd one = dd_multiply_double(third, 3);
    assert_true(one.hi == 1 && fabs(one.lo) <= 0x1p-105);
    const Dd root = dd_sqrt(dd_from(2));
    assert_true(root.hi == 0x1.6a09e667f3bcdp+0 && fabs(root.lo + 0x1.bdd3413b26456p-54) <= 0x1p-104);
    assert_true(dd_sqrt(dd_from(0)).hi == 0 && dd_sqrt(dd_from(-1)).hi == 0);
    assert_true(dd_subtract(third, third).hi == 0);
}

int main(void) {
    mpfr_inits2(BITS, expected, actual, difference, left, right, (mpfr_ptr)0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_of_doubles_are_exact),
        cmocka_unit_test(operations_keep_their_promises),
        cmocka_unit_test(hand_computed),
    };
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_clears(expected, actual, difference, left, right, (mpfr_ptr)0);
    return failures;
}
