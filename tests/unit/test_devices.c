/* Which GPUs --devices names, and whether they may work side by side. */
#include "pipeline/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void lists(void **state) {
    (void)state;
    int devices[DEVICES_MAX], count;
    assert_true(devices_parse("all", devices, &count) && count == -1);
    assert_true(devices_parse("3", devices, &count) && count == 1 && devices[0] == 3);
    assert_true(devices_parse("0,2,15", devices, &count) && count == 3 && devices[2] == 15);
    static const char *const WRONG[] = {
        "", ",", "0,", "1,0", "0,0", "-1", "0 1", "all,0", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) assert_false(devices_parse(WRONG[i], devices, &count));
}

static void disturbed(void **state) {
    (void)state;
    const int devices[] = {4, 7};
    bool host = true;
    const DeviceTrial calm[] = {{{1, 1.009}, {1, 0.9}}, {{2, 1.9}, {2, 2.001}}}, late[] = {{{1, 1}, {1, 1.2}}, {{1, 1}, {1, 1}}},
                      slow[] = {{{1, 1}, {1, 1}}, {{1, 1.02}, {1, 1}}};
    assert_null(devices_disturbed(devices, 2, calm, &host));
    assert_false(host);
    assert_null(devices_disturbed(devices, 2, late, &host));
    assert_true(host);
    const char *why = devices_disturbed(devices, 2, slow, &host);
    assert_non_null(why);
    assert_non_null(strstr(why, "GPU 7 change by +2.0%"));
    const DeviceTrial unknown[] = {{{0, 0}, {0, 0}}, {{1, 1}, {1, 1}}};
    assert_non_null(devices_disturbed(devices, 2, unknown, &host));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists), cmocka_unit_test(disturbed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
