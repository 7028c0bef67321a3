/* What NVML says, asked of a library that stands in for it (fake_nvml.c). */
#include "worker/circumstances.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_told(void **state) {
    (void)state;
    Circumstances cool, hot;
    assert_int_equal(setenv("RUNGS_NVML", RUNGS_FAKE_NVML, 1), 0);
    assert_false(circumstances_now(NULL, &cool));
    assert_false(circumstances_now("MIG-1", &cool));
    assert_true(circumstances_now("GPU-cool", &cool));
    assert_true(circumstances_now("GPU-hot", &hot));
    json_t *told = circumstances_json(&cool, &cool);
    char *text = json_dumps(told, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"celsius\":[40.0,40.0],\"reasons\":[\"software power cap\"],\"throttled\":false,\"watts\":[120.5,120.5]}");
    free(text);
    json_decref(told);
    told = circumstances_json(&cool, &hot);
    assert_true(json_is_true(json_object_get(told, "throttled")));
    assert_int_equal(json_array_size(json_object_get(told, "reasons")), 2);
    assert_true(json_is_null(json_array_get(json_object_get(told, "watts"), 1))); /* it could not tell */
    json_decref(told);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
