/* Memory that was handed to a worker: what it can write, and what not. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "device/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 10000 };

static void open_again(const Shared *shared, int *fd, char path[64]) {
    const int handed = dup(shared->fd);
    snprintf(path, 64, "/proc/self/fd/%d", handed);
    *fd = handed;
}

/* Every way to write a file that a process has been given. */
static void a_sealed_input_cannot_be_written(void **state) {
    (void)state;
    Shared shared;
    char path[64];
    int handed;
    assert_int_equal(shared_create("x", BYTES, &shared), STATUS_OK);
    assert_int_equal(shared_seal(&shared, false), STATUS_OK);
    memset(shared.data, 7, BYTES); /* by its owner it can */
    open_again(&shared, &handed, path);
    const int anew = open(path, O_RDWR);
    for (int i = 0; i < 2; i++) {
        const int fd = i ? anew : handed;
        if (fd < 0) continue;
        assert_int_equal(pwrite(fd, "z", 1, 0), -1);
        assert_int_equal(ftruncate(fd, 0), -1);
        assert_int_equal(ftruncate(fd, 1 << 20), -1);
        assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
        assert_true(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
        void *readable = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
        assert_true(readable != MAP_FAILED);
        assert_int_equal(mprotect(readable, BYTES, PROT_READ | PROT_WRITE), -1);
        munmap(readable, BYTES);
    }
    for (size_t i = 0; i < BYTES; i++) assert_int_equal(((unsigned char *)shared.data)[i], 7);
    if (anew >= 0) close(anew);
    close(handed);
    shared_destroy(&shared);
}

static void an_output_keeps_its_size(void **state) {
    (void)state;
    Shared shared;
    assert_int_equal(shared_create("y", BYTES, &shared), STATUS_OK);
    assert_int_equal(shared_seal(&shared, true), STATUS_OK);
    assert_int_equal(pwrite(shared.fd, "z", 1, 3), 1);
    assert_int_equal(((char *)shared.data)[3], 'z');
    assert_int_equal(ftruncate(shared.fd, 0), -1);                            /* all who map it would die */
    assert_int_equal(fcntl(shared.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1); /* the next worker could not write it */
    shared_destroy(&shared);
}

/* The worker's side: what comes over the socket can be mapped as it was sealed; the mapping stays when the descriptor goes. */
static void files_are_handed_over(void **state) {
    (void)state;
    Shared shared, mapped;
    int ends[2], files[SHARED_MAX_FILES], count = 0;
    assert_int_equal(shared_create("x", BYTES, &shared), STATUS_OK);
    assert_int_equal(shared_seal(&shared, false), STATUS_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(shared_send(ends[0], (const int[]){shared.fd, shared.fd}, 2), STATUS_OK);
    assert_int_equal(shared_receive(ends[1], files, &count), STATUS_OK);
    assert_int_equal(count, 2);
    assert_true(fcntl(files[1], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(shared_open(files[1], "x", BYTES, true, &mapped), STATUS_MEMORY);
    assert_int_equal(shared_open(files[1], "x", 2 * BYTES, false, &mapped), STATUS_IO);
    assert_int_equal(shared_open(files[1], "x", BYTES, false, &mapped), STATUS_OK);
    close(files[0]), close(files[1]);
    ((char *)shared.data)[5] = 9;
    assert_int_equal(((const char *)mapped.data)[5], 9);
    shared_destroy(&mapped);
    close(ends[1]);
    assert_int_equal(shared_send(ends[0], &shared.fd, 1), STATUS_IO); /* nobody is there */
    close(ends[0]);
    shared_destroy(&shared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sealed_input_cannot_be_written),
        cmocka_unit_test(an_output_keeps_its_size),
        cmocka_unit_test(files_are_handed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
