#include "record/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static bool load_warns(const char *load, const char *threads, char text[300]) {
    json_t *environment = json_object(), *cpu = json_object();
    json_object_set_new(cpu, "threads", json_loads(threads, JSON_DECODE_ANY, NULL));
    json_object_set_new(environment, "cpu", cpu);
    if (load) json_object_set_new(environment, "others_running", json_loads(load, JSON_DECODE_ANY, NULL));
    const bool warns = steadiness_load(environment, text, 300);
    json_decref(environment);
    return warns;
}

static void a_machine_half_busy_warns(void **state) {
    (void)state;
    char text[300] = "";
    assert_true(load_warns("4", "2", text));
    assert_non_null(strstr(text, "keep 4 of 2 hardware threads busy"));
    assert_true(load_warns("8", "16", text));
    assert_false(load_warns("7", "16", text));
    assert_false(load_warns("0", "2", text));
    assert_false(load_warns("null", "2", text));
    assert_false(load_warns(NULL, "2", text));
    assert_false(load_warns("9", "null", text));
}

static bool ceilings_warn(const char *ceilings, char text[300]) {
    json_t *list = json_loads(ceilings, 0, NULL);
    assert_non_null(list);
    const bool warns = steadiness_ceilings("cpu", list, text, 300);
    json_decref(list);
    return warns;
}

static void two_measurements_a_quarter_apart_warn(void **state) {
    (void)state;
    char text[300] = "";
    assert_true(ceilings_warn("[{\"name\": \"copy\", \"unit\": \"B/s\", \"value\": 20e9, \"again\": 19e9},"
                              " {\"name\": \"fma_f64\", \"unit\": \"flop/s\", \"value\": 38e9, \"again\": 3.1e9}]",
                              text));
    assert_non_null(strstr(text, "fma_f64 of the cpu disagree: 3.8e+10 and 3.1e+09 flop/s"));
    assert_true(ceilings_warn("[{\"name\": \"copy\", \"unit\": \"B/s\", \"value\": 8, \"again\": 10}]", text));
    assert_false(ceilings_warn("[{\"name\": \"copy\", \"unit\": \"B/s\", \"value\": 8.1, \"again\": 10}]", text));
    assert_false(ceilings_warn("[{\"name\": \"copy\", \"unit\": \"B/s\", \"value\": 8}]", text));
    assert_false(ceilings_warn("[{\"name\": \"copy\", \"unit\": \"B/s\", \"value\": null, \"again\": 10}]", text));
    assert_false(ceilings_warn("[]", text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_half_busy_warns),
        cmocka_unit_test(two_measurements_a_quarter_apart_warn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
