/* What NVML says, asked of a library that stands in for it (fake_nvml.c). */
#include "worker/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_told(void **state) {
    (void)state;
    DeviceState cool, hot;
    assert_int_equal(setenv("RUNGS_NVML", RUNGS_FAKE_NVML, 1), 0);
    assert_false(conditions_now(NULL, &cool));
    assert_false(conditions_now("MIG-1", &cool));
    assert_true(conditions_now("GPU-cool", &cool));
    assert_true(conditions_now("GPU-hot", &hot));
    Conditions told = conditions_between(&cool, &cool);
    assert_true(told.known && !told.throttled && told.reason_count == 1);
    assert_string_equal(told.reasons[0], "software power cap");
    for (int i = 0; i < 2; i++) assert_true(told.celsius[i] == 40);
    told = conditions_between(&cool, &hot);
    assert_true(told.throttled);
    assert_int_equal(told.reason_count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
