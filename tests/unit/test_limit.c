/* The least time to move bytes, and when a time is faster than the hardware. */
#include "measure/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { COLD = 1u << MODE_COLD, HOT = 1u << MODE_HOT, GRAPH = 1u << MODE_GRAPH };

static void on_a_gpu_five_percent_are_too_much(void **state) {
    (void)state;
    assert_false(limit_is_beaten(100e-6, 100e-6, true, 1)); /* a copy itself */
    assert_false(limit_is_beaten(103e-6, 100e-6, true, 1));
    assert_false(limit_is_beaten(95.1e-6, 100e-6, true, 1));
    assert_true(limit_is_beaten(94.9e-6, 100e-6, true, 1));
    assert_true(limit_is_beaten(810e-9, 2.4e-3, true, 1));
}

static void on_a_cpu_half_of_the_time_is_too_much(void **state) {
    (void)state;
    assert_false(limit_is_beaten(100e-6, 100e-6, false, 1));
    assert_false(limit_is_beaten(51e-6, 100e-6, false, 1));
    assert_true(limit_is_beaten(49e-6, 100e-6, false, 1));
    assert_true(limit_is_beaten(3.2e-9, 90e-9, false, 20000)); /* 8 kB out in ten cycles */
}

static void what_the_clock_cannot_tell_is_no_verdict(void **state) {
    (void)state;
    assert_false(limit_is_beaten(2.6e-6, 3.0e-6, true, 1)); /* less than the resolution of events */
    assert_true(limit_is_beaten(1.5e-6, 3.0e-6, true, 1));
    assert_true(limit_is_beaten(2.4e-6, 3.0e-6, true, 64));    /* which many calls share */
    assert_false(limit_is_beaten(1.71e-6, 1.86e-6, true, 64)); /* two kernels, launched back to back */
    assert_false(limit_is_beaten(0, 40e-9, false, 1));
    assert_false(limit_is_beaten(1e-9, 2.9e-9, false, 20000));
    assert_false(limit_is_beaten(NAN, 1, true, 1));
    assert_false(limit_is_beaten(1, NAN, true, 1));
}

static Limit hot_of(double read, double written) {
    Limit out[MEASURE_MODE_COUNT];
    const LimitTask task = {.read = read, .written = written, .modes = HOT};
    assert_int_equal(limit_cpu(&task, out), STATUS_OK);
    return out[MODE_HOT];
}

static void each_mode_that_there_is(void **state) {
    (void)state;
    Limit out[MEASURE_MODE_COUNT];
    const LimitTask task = {.read = 8000, .written = 8000, .modes = COLD | HOT | GRAPH};
    assert_int_equal(limit_cpu(&task, out), STATUS_OK);
    assert_true(out[MODE_COLD].seconds > 0 && out[MODE_HOT].seconds > 0);
    assert_non_null(strstr(out[MODE_COLD].kernel, "thread"));
    for (int m = MODE_GRAPH; m < MEASURE_MODE_COUNT; m++) assert_true(isnan(out[m].seconds));
}

/* Reads alone and writes alone are moved, none of them by nothing; factors of a thousand leave no doubt on any machine. */
static void a_thousand_times_the_bytes_take_longer(void **state) {
    (void)state;
    assert_true(hot_of(8 << 20, 0).seconds > hot_of(8 << 10, 0).seconds);
    assert_true(hot_of(0, 8 << 20).seconds > hot_of(0, 8 << 10).seconds);
    assert_true(hot_of(8 << 20, 8 << 10).seconds > hot_of(8 << 10, 8 << 10).seconds);
    assert_true(hot_of(8 << 10, 8 << 20).seconds > hot_of(8 << 10, 8 << 10).seconds);
    assert_true(hot_of(3, 5).seconds > 0);
}

/* More than any memory: a part is measured. No machine writes a petabyte in a minute. */
static void large_moves_are_scaled(void **state) {
    (void)state;
    assert_true(hot_of(0, 0x1p60).seconds > 60);
}

/* Whoever is busy, a confirmed limit is no longer than what was measured, but for noise: ten times is none. */
static void a_confirmation_may_only_be_shorter(void **state) {
    (void)state;
    Limit out[MEASURE_MODE_COUNT];
    const LimitTask task = {.read = 1 << 20, .written = 1 << 20, .modes = HOT, .confirm = true};
    assert_int_equal(limit_cpu(&task, out), STATUS_OK);
    assert_true(out[MODE_HOT].seconds > 0);
    assert_true(out[MODE_HOT].seconds < hot_of(100 << 20, 100 << 20).seconds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_gpu_five_percent_are_too_much),       cmocka_unit_test(on_a_cpu_half_of_the_time_is_too_much),
        cmocka_unit_test(what_the_clock_cannot_tell_is_no_verdict), cmocka_unit_test(each_mode_that_there_is),
        cmocka_unit_test(a_thousand_times_the_bytes_take_longer),   cmocka_unit_test(large_moves_are_scaled),
        cmocka_unit_test(a_confirmation_may_only_be_shorter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
