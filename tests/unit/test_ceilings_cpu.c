#include "measure/ceilings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_ceiling_is_there_and_says_how(void **state) {
    (void)state;
    static const char *const names[] = {"copy", "read", "write", "fma_f32", "fma_f64", "empty_launch"};
    static const char *const units[] = {"B/s", "B/s", "B/s", "flop/s", "flop/s", "s"};
    Ceiling ceilings[CEILINGS_MAX];
    int count = 0;
    assert_int_equal(ceilings_cpu((size_t)1 << 20, ceilings, &count), STATUS_OK);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++) {
        assert_string_equal(ceilings[i].name, names[i]);
        assert_string_equal(ceilings[i].unit, units[i]);
        assert_true(strlen(ceilings[i].method) > 5);
        assert_true(ceilings[i].value > 0);
        assert_true(ceilings[i].low <= ceilings[i].value && ceilings[i].value <= ceilings[i].high);
        const bool twice = i == 0 || i == 4; /* copy, fma_f64 */
        assert_true(twice ? ceilings[i].again > 0 && ceilings[i].again <= ceilings[i].value : ceilings[i].again == 0);
    }
    assert_int_equal(ceilings[0].bytes, 2 << 20);
    assert_int_equal(ceilings[1].bytes, 1 << 20);
}

/* A timer that is told its samples. */
typedef struct Told {
    const double *medians; /* by trial, as work.context counts them */
    int looks[3];
    const char *none;
} Told;

static Status told_timer(void *context, const MeasuredWork *work, const SamplingPace *pace, Samples *out) {
    (void)pace;
    Told *told = context;
    const int trial = *(const int *)work->context;
    *out = (Samples){.calls_per_sample = 1};
    told->looks[trial]++;
    if (told->none) {
        snprintf(out->why_none, sizeof out->why_none, "%s", told->none);
        return STATUS_OK;
    }
    out->seconds = malloc(5 * sizeof *out->seconds);
    assert_non_null(out->seconds);
    for (int i = 0; i < 5; i++) out->seconds[i] = told->medians[trial] * (1 + 0.1 * (i - 2)); /* q1 0.9, median 1, q3 1.1 */
    out->count = 5;
    return STATUS_OK;
}

static const int INDEX[] = {0, 1, 2};
static const CeilingTrial TRIALS[] = {{"slow", {.context = (void *)(uintptr_t)&INDEX[0]}},
                                      {"fast", {.context = (void *)(uintptr_t)&INDEX[1]}},
                                      {"slower", {.context = (void *)(uintptr_t)&INDEX[2]}}};

static void the_fastest_way_wins_and_is_measured_again(void **state) {
    (void)state;
    static const double medians[] = {2, 1, 4};
    Told told = {.medians = medians};
    CeilingTask task = {"copy", "B/s", 100, 64, told_timer, &told, TRIALS, 3};
    Ceiling ceiling;
    assert_int_equal(ceiling_pick(&task, &ceiling), STATUS_OK);
    assert_string_equal(ceiling.method, "fast");
    assert_int_equal(told.looks[0], 1);
    assert_int_equal(told.looks[1], 2);
    assert_int_equal(told.looks[2], 1);
    assert_true(ceiling.value == 100.0 / medians[1]);
    assert_true(fabs(ceiling.low - 100 / 1.1) < 1e-9);
    assert_true(fabs(ceiling.high - 100 / 0.9) < 1e-9);
    assert_int_equal(ceiling.bytes, 64);

    task.quantity = 0; /* a time: the value is the median, and low is the lower quartile */
    assert_int_equal(ceiling_pick(&task, &ceiling), STATUS_OK);
    assert_true(ceiling.value == 1);
    assert_true(fabs(ceiling.low - 0.9) < 1e-12);
    assert_true(fabs(ceiling.high - 1.1) < 1e-12);
}

static void what_cannot_be_timed_is_no_ceiling(void **state) {
    (void)state;
    Told told = {.none = "no memory for the flush"};
    const CeilingTask task = {"copy", "B/s", 100, 64, told_timer, &told, TRIALS, 1};
    Ceiling ceiling;
    assert_int_equal(ceiling_pick(&task, &ceiling), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_message(), "ceiling copy, slow: no memory for the flush"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ceiling_is_there_and_says_how),
        cmocka_unit_test(the_fastest_way_wins_and_is_measured_again),
        cmocka_unit_test(what_cannot_be_timed_is_no_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
