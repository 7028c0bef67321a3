#include "base/poison.h"
#include "device/digest.h"
#include "device/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static Buffer make(DType dtype, size_t n) {
    const Array shape = array_1d("y", dtype, n);
    Buffer buffer;
    assert_int_equal(buffer_create(device_cpu(), &shape, &buffer), STATUS_OK);
    assert_int_equal((uintptr_t)buffer.array.data % 256, 0);
    assert_int_equal(buffer_check_guards(&buffer), STATUS_OK);
    return buffer;
}

static void guards_catch_a_byte_on_each_side(void **state) {
    (void)state;
    static const DType dtypes[] = {DTYPE_U8, DTYPE_F32, DTYPE_F64};
    static const size_t counts[] = {0, 1, 255, 511, 100003};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            Buffer buffer = make(dtypes[d], counts[c]);
            unsigned char *data = buffer.array.data;
            memset(data, 0, buffer.bytes); /* all of the payload is the variant's */
            assert_int_equal(buffer_check_guards(&buffer), STATUS_OK);
            const unsigned char kept = data[buffer.bytes];
            data[buffer.bytes] ^= 1;
            assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
            assert_non_null(strstr(status_message(), "y "));
            assert_non_null(strstr(status_message(), "past its end: the first changed byte is 0 after"));
            data[buffer.bytes] = kept;
            assert_int_equal(buffer_check_guards(&buffer), STATUS_OK);
            data[-1] ^= 1;
            assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
            assert_non_null(strstr(status_message(), "before its start: the nearest changed byte is 1 before"));
            buffer_destroy(&buffer);
        }
    }
}

/* The byte that an overrun writes most often, past buffers at many addresses: no guard may happen to hold it. */
static void guards_catch_a_zero_byte(void **state) {
    (void)state;
    enum { BUFFERS = 1000 };
    static Buffer buffers[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = make(DTYPE_U8, 100);
        unsigned char *const end = (unsigned char *)buffers[i].array.data + 100;
        *end = 0;
        assert_int_equal(buffer_check_guards(&buffers[i]), STATUS_CHECK);
    }
    for (int i = 0; i < BUFFERS; i++) buffer_destroy(&buffers[i]);
}

static void guards_catch_the_off_by_one_element(void **state) {
    (void)state;
    Buffer buffer = make(DTYPE_F64, 1000);
    double *y = buffer.array.data;
    for (size_t i = 0; i <= 1000; i++) y[i] = NAN; /* one too many, and a NaN, as the guards themselves are */
    assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "(index 1000)"));
    buffer_destroy(&buffer);

    buffer = make(DTYPE_F32, 1000);
    ((float *)buffer.array.data)[-1] = 1.0F;
    assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "(index -1)"));
    buffer_destroy(&buffer);

    buffer = make(DTYPE_F64, 10); /* the far ends of both guards count too */
    ((unsigned char *)buffer.base)[0] ^= 0x80;
    assert_true(buffer.below >= GUARD_BYTES && (uintptr_t)buffer.base % 4096 == 0); /* nothing lies between guard and pages */
    char words[32];
    snprintf(words, sizeof words, "%zu before", buffer.below);
    assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
    assert_non_null(strstr(status_message(), words));
    buffer_destroy(&buffer);
    buffer = make(DTYPE_F64, 10);
    ((unsigned char *)buffer.array.data)[buffer.bytes + GUARD_BYTES - 1] ^= 0x80;
    assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "is 4095 after"));
    buffer_destroy(&buffer);
}

/* y[i] = x[i] past both ends copies a guard over a guard. One pair of addresses in 65536 has the same words. */
static void guards_of_another_buffer_are_found(void **state) {
    (void)state;
    enum { BUFFERS = 16 };
    Buffer x = make(DTYPE_F64, 1000), y[BUFFERS];
    int found = 0;
    for (int i = 0; i < BUFFERS; i++) {
        y[i] = make(DTYPE_F64, 1000);
        memcpy((unsigned char *)y[i].array.data + y[i].bytes, (unsigned char *)x.array.data + x.bytes, GUARD_BYTES);
        found += buffer_check_guards(&y[i]) == STATUS_CHECK;
    }
    assert_true(found >= BUFFERS - 1);
    for (int i = 0; i < BUFFERS; i++) buffer_destroy(&y[i]);
    buffer_destroy(&x);
}

static void reading_a_guard_gives_nan(void **state) {
    (void)state;
    Buffer buffer = make(DTYPE_F64, 7);
    assert_true(isnan(((double *)buffer.array.data)[7]));
    assert_true(isnan(((double *)buffer.array.data)[-1]));
    buffer_destroy(&buffer);
    buffer = make(DTYPE_F32, 7);
    assert_true(isnan(((float *)buffer.array.data)[7]));
    assert_true(isnan(((float *)buffer.array.data)[-1]));
    buffer_destroy(&buffer);
}

static void poison_is_seen_element_by_element(void **state) {
    (void)state;
    static const DType dtypes[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64, DTYPE_U8};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        enum { N = 1000 };
        Buffer buffer = make(dtypes[d], N);
        const size_t size = dtype_size(dtypes[d]);
        assert_int_equal(buffer_poison(&buffer), STATUS_OK);
        unsigned char *data = buffer.array.data;
        data[3 * size] = 0;            /* first byte of element 3 */
        data[998 * size + size - 1]++; /* last byte of element 998 */
        unsigned char *host = malloc(N * size);
        assert_non_null(host);
        assert_int_equal(buffer.device->copy_out(host, buffer.array.data, buffer.bytes), STATUS_OK);
        for (size_t i = 0; i < N; i++) assert_int_equal(poison_element(host, dtypes[d], i), i != 3 && i != 998);
        assert_int_equal(buffer_check_guards(&buffer), STATUS_OK); /* poison stays inside */
        free(host);
        buffer_destroy(&buffer);
    }
}

static void poisons_are_a_nan_and_a_number_of_each_sign(void **state) {
    (void)state;
    Buffer buffer = make(DTYPE_F64, 1);
    const double *wide = buffer.array.data;
    float narrow;
    for (int p = POISON_PATTERNS; p-- > 0;) { /* the first again at last */
        buffer_poison_with(POISONS[p]);
        assert_int_equal(buffer_poison(&buffer), STATUS_OK);
        memcpy(&narrow, buffer.array.data, sizeof narrow);
        assert_true(p == 0 ? isnan(narrow) && isnan(*wide) : isnormal(narrow) && isnormal(*wide));
        assert_true(p == 0 || (signbit(narrow) != 0 && signbit(*wide) != 0) == (p == 2));
    }
    buffer_destroy(&buffer);
}

/* More than one chunk, so that the index has to survive chunking. */
static void a_changed_input_is_found_with_its_index(void **state) {
    (void)state;
    enum { N = (72 << 20) / 8 };
    static const size_t changed[] = {0, 1, 12345, (64 << 20) / 8 - 1, (64 << 20) / 8, N - 1};
    Buffer buffer = make(DTYPE_F64, N);
    double *host = malloc(N * sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < N; i++) host[i] = (double)i;
    host[77] = NAN; /* equal bit by bit though unequal as a number */
    assert_int_equal(buffer_upload(&buffer, host), STATUS_OK);
    assert_int_equal(buffer_check_unchanged(&buffer, host), STATUS_OK);
    assert_int_equal(device_cpu()->protect(buffer.base, false), STATUS_OK);
    double *x = buffer.array.data;
    for (size_t c = 0; c < sizeof changed / sizeof *changed; c++) {
        const double kept = x[changed[c]];
        x[changed[c]] = kept == 0 ? -0.0 : kept + 0.5; /* -0.0 == 0.0, yet it was changed */
        x[N - 1] += c % 2 ? 0.25 : 0;                  /* a later change must not mask the first */
        char expected[64];
        snprintf(expected, sizeof expected, "input y was changed: element %zu is", changed[c]);
        assert_int_equal(buffer_check_unchanged(&buffer, host), STATUS_CHECK);
        assert_non_null(strstr(status_message(), expected));
        memcpy(x, host, N * sizeof *host);
    }
    assert_int_equal(buffer_check_unchanged(&buffer, host), STATUS_OK);
    free(host);
    buffer_destroy(&buffer);
}

static int digests, downloads;

static Status summed(const void *data, size_t bytes, uint64_t *out) {
    digests++;
    *out = 0;
    for (size_t i = 0; i < bytes; i++) *out += digest_of_word(((const unsigned char *)data)[i], i, 1481765934);
    return STATUS_OK;
}

static Status brought(void *host, const void *data, size_t bytes) {
    downloads++;
    return device_cpu()->copy_out(host, data, bytes);
}

/* A device that makes digests hands over its memory only where they say that something changed. */
static void a_digest_spares_the_transfer(void **state) {
    (void)state;
    enum { N = (1 << 20) / 8 + 3 };
    static double host[N];
    Device device = *device_cpu();
    device.digest = summed;
    device.copy_out = brought;
    device.protect = NULL;
    device.guard_most = (size_t)1 << 20;
    const Array shape = array_1d("y", DTYPE_F64, N);
    Buffer buffer;
    for (size_t i = 0; i < N; i++) host[i] = (double)i;
    assert_int_equal(buffer_create(&device, &shape, &buffer), STATUS_OK);
    assert_int_equal(buffer_upload(&buffer, host), STATUS_OK);
    digests = downloads = 0;
    assert_int_equal(buffer_check_unchanged(&buffer, host), STATUS_OK);
    assert_int_equal(buffer_check_guards(&buffer), STATUS_OK);
    assert_int_equal(digests, 3);
    assert_int_equal(downloads, 0);
    unsigned char *const data = buffer.array.data;
    data[12345 * 8 + 7] ^= 1;
    assert_int_equal(buffer_check_unchanged(&buffer, host), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "input y was changed: element 12345 is"));
    data[12345 * 8 + 7] ^= 1;
    data[-1] ^= 1;
    assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "nearest changed byte is 1 before"));
    data[-1] ^= 1;
    data[buffer.bytes + 300000] ^= 1;
    assert_int_equal(buffer_check_guards(&buffer), STATUS_CHECK);
    assert_non_null(strstr(status_message(), "changed byte is 300000 after"));
    data[buffer.bytes + 300000] ^= 1;
    const Vary how = vary_open(VARY_STEPS, 5, N);
    assert_int_equal(buffer_vary_from_host(&buffer, &how, host, NULL), STATUS_OK);
    vary_all(&how, DTYPE_F64, N, host, NULL, host);
    downloads = 0;
    assert_int_equal(buffer_check_unchanged(&buffer, host), STATUS_OK);
    assert_int_equal(downloads, 0);
    assert_memory_equal(buffer.array.data, host, sizeof(double) * N);
    buffer_destroy(&buffer);
}

static void empty_arrays_work(void **state) {
    (void)state;
    Buffer buffer = make(DTYPE_F64, 0);
    assert_non_null(buffer.array.data);
    assert_int_equal(buffer_poison(&buffer), STATUS_OK);
    assert_int_equal(buffer_upload(&buffer, NULL), STATUS_OK);
    assert_int_equal(buffer_check_unchanged(&buffer, NULL), STATUS_OK);
    assert_int_equal(buffer_check_guards(&buffer), STATUS_OK);
    buffer_destroy(&buffer);
}

static void too_much_is_refused_with_numbers(void **state) {
    (void)state;
    Buffer buffer;
    Array shape = array_1d("y", DTYPE_F64, (size_t)1 << 50);
    assert_int_equal(buffer_create(device_cpu(), &shape, &buffer), STATUS_MEMORY);
    assert_non_null(strstr(status_message(), "array y: "));
    assert_non_null(strstr(status_message(), "9007199254749184 bytes")); /* 2^53 and two guards of 4096 */
    shape.rank = 2;
    shape.shape[0] = shape.shape[1] = (size_t)1 << 40; /* the product wraps around */
    assert_int_equal(buffer_create(device_cpu(), &shape, &buffer), STATUS_MEMORY);
    assert_null(buffer.base);
}

static void memory_in_use_grows_with_what_is_kept(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its malloc does not tell */
#endif
    enum { SMALL = 5000, LARGE = 8 << 20 }; /* from an arena, and mapped */
    const size_t before = device_cpu()->in_use();
    void *volatile kept = malloc(SMALL);
    const size_t small = device_cpu()->in_use();
    assert_true(small >= before + SMALL);
    void *volatile large = malloc(LARGE);
    assert_true(device_cpu()->in_use() >= small + LARGE);
    free(large);
    free(kept);
    assert_true(device_cpu()->in_use() <= before);
}

/* Writes one byte in a process of its own, which has to die of it; what it says must contain the words. */
static void dies_writing(const Buffer *buffer, ptrdiff_t at, const char *words) {
    int says[2];
    assert_int_equal(pipe(says), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(says[1], STDERR_FILENO);
        signal(SIGSEGV, SIG_DFL);
        assert_int_equal(device_cpu()->open(0), STATUS_OK); /* explains faults */
        ((volatile unsigned char *)buffer->array.data)[at] = 1;
        _exit(0);
    }
    close(says[1]);
    int ended = 0;
    char text[300] = "";
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(read(says[0], text, sizeof text - 1) > 0);
    close(says[0]);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGSEGV);
    if (!strstr(text, words)) fail_msg("'%s' is not in '%s'", words, text);
}

/* Past the guard words lie pages that cannot be touched: as many as the buffer has, and 16 MiB at least. */
static void a_leap_over_the_guard_dies(void **state) {
    (void)state;
    static const size_t counts[] = {1, 100003, 3 << 20};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        Buffer buffer = make(DTYPE_F64, counts[c]);
        const ptrdiff_t bytes = (ptrdiff_t)buffer.bytes, least = 16 << 20, reach = bytes > least ? bytes : least;
        dies_writing(&buffer, bytes + GUARD_BYTES + 256, "rungs-worker: wrote 4352 bytes past the end of y");
        dies_writing(&buffer, bytes + (64 << 10), "wrote 65536 bytes past the end of y");
        dies_writing(&buffer, bytes + (1 << 20), "past the end of y");
        dies_writing(&buffer, bytes + reach, "past the end of y");
        dies_writing(&buffer, -(ptrdiff_t)buffer.below - 1, "before the start of y");
        dies_writing(&buffer, -reach, "before the start of y");
        buffer_destroy(&buffer);
    }
}

static void an_uploaded_input_is_read_only(void **state) {
    (void)state;
    double x[1000] = {0};
    Buffer buffer = make(DTYPE_F64, 1000);
    for (int again = 0; again < 2; again++) { /* the harness writes it as often as it likes */
        x[3] = again;
        assert_int_equal(buffer_upload(&buffer, x), STATUS_OK);
        assert_int_equal(buffer_check_unchanged(&buffer, x), STATUS_OK);
        dies_writing(&buffer, 24, "rungs-worker: wrote to input y, byte 24 of 8000");
    }
    buffer_destroy(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_catch_a_byte_on_each_side),
        cmocka_unit_test(guards_catch_a_zero_byte),
        cmocka_unit_test(guards_catch_the_off_by_one_element),
        cmocka_unit_test(guards_of_another_buffer_are_found),
        cmocka_unit_test(reading_a_guard_gives_nan),
        cmocka_unit_test(poison_is_seen_element_by_element),
        cmocka_unit_test(poisons_are_a_nan_and_a_number_of_each_sign),
        cmocka_unit_test(a_changed_input_is_found_with_its_index),
        cmocka_unit_test(a_digest_spares_the_transfer),
        cmocka_unit_test(empty_arrays_work),
        cmocka_unit_test(too_much_is_refused_with_numbers),
        cmocka_unit_test(memory_in_use_grows_with_what_is_kept),
        cmocka_unit_test(a_leap_over_the_guard_dies),
        cmocka_unit_test(an_uploaded_input_is_read_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
