#include "base/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* numpy.quantile(samples, [0.25, 0.5, 0.75]), NumPy 2 */
static void quantiles_are_those_of_numpy(void **state) {
    (void)state;
    static const struct {
        size_t count;
        double samples[10];
        double q1, median, q3;
    } known[] = {
        {1, {7}, 7, 7, 7},
        {2, {2, 1}, 1.25, 1.5, 1.75},
        {3, {3, 1, 2}, 1.5, 2, 2.5},
        {4, {4, 1, 3, 2}, 1.75, 2.5, 3.25},
        {6, {1, 2, 3, 4, 5, 6}, 2.25, 3.5, 4.75},
        {7, {10, 1, 7, 3, 9, 2, 5}, 2.5, 5, 8},
        {10, {1.5, -2, 8, 1e3, 7, 0.25, 3, 3, 9, 11}, 1.875, 5, 8.75},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const Stats stats = stats_of(known[i].samples, known[i].count);
        assert_int_equal(stats.count, known[i].count);
        assert_true(stats.q1 == known[i].q1);
        assert_true(stats.median == known[i].median);
        assert_true(stats.q3 == known[i].q3);
    }
}

/* Ranks k from exact integer binomials: the largest k with 2 * sum(comb(n, i) for i < k) <= 0.05 * 2**n. */
static void interval_of_the_median_has_the_binomial_ranks(void **state) {
    (void)state;
    static const struct {
        size_t count, k;
    } known[] = {{6, 1},  {7, 1},  {8, 1},   {9, 2},    {10, 2},   {15, 4},     {20, 6},
                 {21, 6}, {25, 8}, {50, 18}, {100, 40}, {101, 41}, {1000, 469}, {10000, 4902}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = known[i].count;
        double *samples = malloc(n * sizeof *samples);
        assert_non_null(samples);
        for (size_t j = 0; j < n; j++) samples[(j * 7919) % n] = (double)(j + 1); /* 7919 is prime: a permutation of 1..n */
        const Stats stats = stats_of(samples, n);
        assert_true(stats.low == (double)known[i].k);
        assert_true(stats.high == (double)(n + 1 - known[i].k));
        assert_true(stats.min == 1 && stats.max == (double)n);
        free(samples);
    }
}

static void few_samples_give_min_and_max(void **state) {
    (void)state;
    static const double samples[] = {5, 1, 4, 2, 3};
    for (size_t n = 1; n <= 5; n++) {
        const Stats stats = stats_of(samples, n);
        assert_true(stats.low == stats.min && stats.high == stats.max);
    }
    const Stats all = stats_of(samples, 5);
    assert_true(all.low == 1 && all.high == 5);
}

static void samples_keep_their_order(void **state) {
    (void)state;
    double samples[] = {3, 1, 2};
    static const double before[] = {3, 1, 2};
    (void)stats_of(samples, 3);
    assert_memory_equal(samples, before, sizeof before);
}

static void nothing_and_nan_give_nan(void **state) {
    (void)state;
    const Stats none = stats_of(NULL, 0);
    assert_int_equal(none.count, 0);
    assert_true(isnan(none.median) && isnan(none.min) && isnan(none.max) && isnan(none.q1) && isnan(none.q3) && isnan(none.low) &&
                isnan(none.high));
    const double samples[] = {1, NAN, 3};
    const Stats broken = stats_of(samples, 3);
    assert_true(isnan(broken.median) && isnan(broken.min) && isnan(broken.low));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_numpy), cmocka_unit_test(interval_of_the_median_has_the_binomial_ranks),
        cmocka_unit_test(few_samples_give_min_and_max), cmocka_unit_test(samples_keep_their_order),
        cmocka_unit_test(nothing_and_nan_give_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
