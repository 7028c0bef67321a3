#include "device/resource.h"

#include "base/poison.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static Resource *resource;
static VariantMemory *memory;

static void *take(size_t bytes) {
    void *pointer = &pointer;
    assert_int_equal(memory->allocate(memory, bytes, NULL, &pointer), STATUS_OK);
    return pointer;
}

static void give(void *pointer) {
    memory->release(memory, pointer, NULL);
}

static int open_resource(void **state) {
    (void)state;
    if (resource_create(device_cpu(), "pool", &resource) != STATUS_OK) return 1; /* the CPU has one kind of memory */
    memory = resource_memory(resource);
    return resource_begin(resource, true) == STATUS_OK ? 0 : 1;
}

static int close_resource(void **state) {
    (void)state;
    resource_destroy(resource);
    return 0;
}

static Status hand_over(const char *name, DType dtype, size_t n, void *data) {
    Array output = array_1d(name, dtype, n);
    output.data = data;
    return resource_hand_over(resource, &output);
}

static void counts_are_of_one_call(void **state) {
    (void)state;
    for (int guarded = 0; guarded < 2; guarded++) {
        assert_int_equal(resource_begin(resource, guarded), STATUS_OK);
        void *a = take(100), *b = take(1000);
        give(a);
        void *c = take(10);
        assert_null(take(0));
        give(NULL);
        ResourceCounts counts = resource_counts(resource);
        assert_string_equal(counts.resource, "malloc");
        assert_int_equal(counts.allocations, 3);
        assert_int_equal(counts.live_bytes, 1010);
        assert_int_equal(counts.peak_bytes, 1100);
        give(b);
        give(c);
        assert_int_equal(resource_end(resource), STATUS_OK);
        assert_int_equal(resource_begin(resource, guarded), STATUS_OK);
        assert_int_equal(resource_counts(resource).allocations, 0);
        assert_int_equal(resource_counts(resource).peak_bytes, 0);
    }
    assert_int_equal(resource_held_bytes(resource), 0);
}

static void guarded_blocks_are_aligned_and_poisoned(void **state) {
    (void)state;
    unsigned char *block = take(777);
    assert_int_equal((uintptr_t)block % 256, 0);
    for (int i = 0; i < 777; i++) assert_int_equal(block[i], POISON_BYTE);
    give(block);
}

static void leaks_are_told_with_count_and_bytes(void **state) {
    (void)state;
    give(take(5));
    take(100);
    void *kept = take(800);
    take(11);
    assert_int_equal(hand_over("y", DTYPE_F64, 100, kept), STATUS_OK);
    assert_int_equal(resource_end(resource), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "leaks 2 blocks of 111 bytes in all"));
    assert_int_equal(resource_begin(resource, true), STATUS_OK);
    assert_int_equal(resource_end(resource), STATUS_OK); /* forgotten by the next call */
}

static void overruns_are_told_at_release_and_at_the_end(void **state) {
    (void)state;
    unsigned char *block = take(100);
    block[100] = 0;
    give(block);
    assert_int_equal(resource_end(resource), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "a block of 100 bytes u8[100]: written past its end"));

    assert_int_equal(resource_begin(resource, true), STATUS_OK);
    block = take(100);
    block[-1] = 0;
    assert_int_equal(resource_end(resource), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "written before its start: the nearest changed byte is 1 before"));

    assert_int_equal(resource_begin(resource, true), STATUS_OK);
    block = take(120); /* an output of 5 elements in room for 15: what lies between is its own */
    block[119] = 1;
    assert_int_equal(hand_over("y", DTYPE_F64, 5, block), STATUS_OK);
    assert_int_equal(resource_end(resource), STATUS_OK);

    assert_int_equal(resource_begin(resource, true), STATUS_OK);
    block = take(120);
    block[120] = 1;
    assert_int_equal(hand_over("y", DTYPE_F64, 5, block), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "y f64[15]: written past its end"));
}

static void handing_over_demands_the_start_of_a_large_enough_block_of_its_own(void **state) {
    (void)state;
    char elsewhere[64];
    unsigned char *block = take(100), *other = take(100);
    assert_int_equal(hand_over("y", DTYPE_U8, 0, NULL), STATUS_OK);
    assert_int_equal(hand_over("y", DTYPE_U8, 1, NULL), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "output y u8[1]: run() set elements but no data"));
    assert_int_equal(hand_over("y", DTYPE_U8, 10, block + 1), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "not the start of a block"));
    assert_int_equal(hand_over("y", DTYPE_U8, 10, elsewhere), STATUS_CHECK);
    assert_int_equal(hand_over("y", DTYPE_U8, 101, block), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "larger than its block of 100 bytes"));
    assert_int_equal(hand_over("y", DTYPE_I32, 26, block), STATUS_CHECK);
    assert_int_equal(hand_over("y", DTYPE_I32, 25, block), STATUS_OK);
    assert_int_equal(hand_over("z", DTYPE_I32, 25, block), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "another output's too"));
    give(other);
    assert_int_equal(hand_over("z", DTYPE_I32, 25, other), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "was released"));
    assert_int_equal(resource_end(resource), STATUS_OK);
}

static void wrong_releases_are_told_and_do_nothing(void **state) {
    (void)state;
    for (int guarded = 0; guarded < 2; guarded++) {
        char elsewhere[64];
        assert_int_equal(resource_begin(resource, guarded), STATUS_OK);
        unsigned char *block = take(100);
        give(block);
        give(block);
        assert_int_equal(resource_end(resource), STATUS_CHECK);
        assert_string_equal(status_message(), "releases a block of 100 bytes twice");

        assert_int_equal(resource_begin(resource, guarded), STATUS_OK);
        give(elsewhere);
        assert_int_equal(resource_end(resource), STATUS_CHECK);
        assert_non_null(strstr(status_message(), "did not allocate"));

        assert_int_equal(resource_begin(resource, guarded), STATUS_OK);
        block = take(100);
        give(block + 40);
        block[99] = 1; /* still there */
        give(block);
        assert_int_equal(resource_end(resource), STATUS_CHECK);
        assert_string_equal(status_message(), "releases a pointer 40 bytes into a block of 100 bytes");
    }
}

static void many_blocks_one_after_the_other(void **state) {
    (void)state;
    assert_int_equal(resource_begin(resource, false), STATUS_OK);
    void *kept = take(64);
    for (int i = 0; i < 100000; i++) give(take(32));
    assert_int_equal(resource_counts(resource).allocations, 100001);
    assert_int_equal(resource_counts(resource).peak_bytes, 96);
    give(kept);
    void *pointer = NULL;
    Status status = STATUS_OK;
    size_t live = 0;
    while ((status = memory->allocate(memory, 1, NULL, &pointer)) == STATUS_OK) live++;
    assert_int_equal(status, STATUS_MEMORY);
    assert_int_equal(live, 4096);
    assert_null(pointer);
}

static void too_much_is_refused_by_the_bytes(void **state) {
    (void)state;
    void *pointer = &pointer;
    for (int guarded = 0; guarded < 2; guarded++) {
        assert_int_equal(resource_begin(resource, guarded), STATUS_OK);
        assert_int_equal(memory->allocate(memory, (size_t)1 << 60, NULL, &pointer), STATUS_MEMORY);
        assert_null(pointer);
        assert_non_null(strstr(status_message(), "1152921504606"));
        assert_int_equal(resource_end(resource), STATUS_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_of_one_call, open_resource, close_resource),
        cmocka_unit_test_setup_teardown(guarded_blocks_are_aligned_and_poisoned, open_resource, close_resource),
        cmocka_unit_test_setup_teardown(leaks_are_told_with_count_and_bytes, open_resource, close_resource),
        cmocka_unit_test_setup_teardown(overruns_are_told_at_release_and_at_the_end, open_resource, close_resource),
        cmocka_unit_test_setup_teardown(handing_over_demands_the_start_of_a_large_enough_block_of_its_own, open_resource,
                                        close_resource),
        cmocka_unit_test_setup_teardown(wrong_releases_are_told_and_do_nothing, open_resource, close_resource),
        cmocka_unit_test_setup_teardown(many_blocks_one_after_the_other, open_resource, close_resource),
        cmocka_unit_test_setup_teardown(too_much_is_refused_by_the_bytes, open_resource, close_resource),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
