#include "measure/counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static void assert_short(const char *demangled, const char *expected) {
    char name[ACTIVITY_NAME_MAX];
    activity_short_name(demangled, name);
    assert_string_equal(name, expected);
}

static void names_lose_return_types_and_parameters(void **state) {
    (void)state;
    assert_short("copy_kernel(double const*, double*, unsigned long)", "copy_kernel");
    assert_short("void scan_kernel<256, double>(double const*, double*)", "scan_kernel<256, double>");
    assert_short("void cub::scan<cub::Policy<int>, (cub::Kind)2>(int, cub::Thing<int, (bool)1>)",
                 "cub::scan<cub::Policy<int>, (cub::Kind)2>");
    assert_short("void (anonymous namespace)::kernel<int>(int*)", "(anonymous namespace)::kernel<int>");
    assert_short("plain_c_name", "plain_c_name");
    assert_short("", "");
}

static void long_names_are_cut(void **state) {
    (void)state;
    char demangled[400], name[ACTIVITY_NAME_MAX];
    memset(demangled, 'k', sizeof demangled);
    demangled[sizeof demangled - 1] = '\0';
    activity_short_name(demangled, name);
    assert_int_equal(strlen(name), ACTIVITY_NAME_MAX - 1);
    assert_string_equal(name + ACTIVITY_NAME_MAX - 4, "...");
    demangled[ACTIVITY_NAME_MAX - 1] = '('; /* one that just fits */
    activity_short_name(demangled, name);
    assert_int_equal(strlen(name), ACTIVITY_NAME_MAX - 1);
    assert_string_equal(name + ACTIVITY_NAME_MAX - 4, "kkk");
}

static void add(ActivityList *list, ActivityKind kind, const char *name, uint64_t begin, uint64_t end, int blocks) {
    Activity *item = activity_add(list);
    assert_non_null(item);
    item->kind = kind;
    strcpy(item->name, name);
    item->begin = begin, item->end = end;
    item->grid[0] = blocks;
}

static void launches_are_grouped_by_configuration(void **state) {
    (void)state;
    ActivityList list = {0};
    KernelGroup groups[2];
    assert_null(activity_longest_kernel(&list));
    assert_int_equal(activity_groups(&list, groups, 2), 0);
    add(&list, ACTIVITY_KERNEL, "scan", 5000, 6000, 10);
    add(&list, ACTIVITY_KERNEL, "copy", 1000, 3000, 10);
    add(&list, ACTIVITY_COPY, "host to device", 0, 100000, 0);
    add(&list, ACTIVITY_KERNEL, "copy", 7000, 8500, 20); /* another grid is another launch configuration */
    add(&list, ACTIVITY_KERNEL, "copy", 9000, 9500, 10);
    activity_sort(&list);
    assert_int_equal(list.items[0].kind, ACTIVITY_COPY); /* begins first */
    assert_int_equal(activity_count(&list, ACTIVITY_KERNEL), 4);
    assert_int_equal(activity_count(&list, ACTIVITY_FILL), 0);
    assert_true(fabs(activity_seconds(&list, ACTIVITY_KERNEL) - 5e-6) < 1e-12);
    assert_int_equal(activity_groups(&list, groups, 2), 3); /* of which two fit */
    assert_string_equal(groups[0].kernel->name, "copy");
    assert_int_equal(groups[0].launches, 2);
    assert_true(fabs(groups[0].seconds - 2.5e-6) < 1e-12);
    assert_string_equal(groups[1].kernel->name, "scan");
    assert_int_equal(groups[1].launches, 1);
    assert_ptr_equal(activity_longest_kernel(&list), groups[0].kernel);
    activity_free(&list);
    assert_int_equal(list.count, 0);
}

static void kernels_on_other_streams_are_counted(void **state) {
    (void)state;
    ActivityList list = {0};
    add(&list, ACTIVITY_KERNEL, "scan", 5000, 6000, 10);
    list.items[0].stream = 13;
    activity_take_stream(&list, "flush");
    assert_int_equal(activity_elsewhere(&list), 0); /* the stream of the call is not known */
    add(&list, ACTIVITY_KERNEL, "flush", 1000, 3000, 10);
    add(&list, ACTIVITY_KERNEL, "scan", 7000, 8000, 10);
    add(&list, ACTIVITY_COPY, "host to device", 8000, 9000, 0); /* a copy that waits goes to the default stream */
    list.items[1].stream = 7, list.items[2].stream = 7;
    activity_sort(&list);
    activity_take_stream(&list, "flush");
    assert_int_equal(activity_count(&list, ACTIVITY_KERNEL), 2);
    assert_int_equal(activity_elsewhere(&list), 1);
    activity_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_return_types_and_parameters),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(kernels_on_other_streams_are_counted),
        cmocka_unit_test(launches_are_grouped_by_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
