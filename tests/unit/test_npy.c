#include "base/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rungs-npy-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a.npy", folder);
    return 0;
}

static int count_files(void) {
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* Writes preamble, header and data; version 0 means: the header is the whole file. */
static void put(int version, const char *header, size_t header_bytes, size_t data_bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (version) {
        const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
        const unsigned char length[] = {(unsigned char)header_bytes, (unsigned char)(header_bytes >> 8), 0, 0};
        fwrite(start, 1, sizeof start, file);
        fwrite(length, 1, version == 1 ? 2 : 4, file);
    }
    fwrite(header, 1, header_bytes, file);
    for (size_t i = 0; i < data_bytes; i++) fputc((int)(i % 251), file);
    assert_int_equal(fclose(file), 0);
}

static void round_trips(void **state) {
    (void)state;
    static double data[2 * 3 * 5 * 7];
    for (size_t i = 0; i < 210; i++) data[i] = (double)i * 0.1;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int rank = 0; rank <= ARRAY_MAX_RANK; rank++) {
            Array out, in = {.dtype = (DType)dtype, .rank = rank, .shape = {2, 3, 5, 7, 1, 1}, .data = data};
            assert_int_equal(npy_write(path, &in), STATUS_OK);
            if (npy_read(path, &out) != STATUS_OK) fail_msg("%s", status_message());
            assert_true(out.dtype == in.dtype && out.rank == rank && out.name[0] == '\0');
            for (int d = 0; d < rank; d++) assert_int_equal(out.shape[d], in.shape[d]);
            assert_memory_equal(out.data, data, array_bytes(&in));
            free(out.data);
        }
    Array out, empty = array_1d("x", DTYPE_F32, 0);
    assert_int_equal(npy_write(path, &empty), STATUS_OK);
    assert_int_equal(npy_read(path, &out), STATUS_OK);
    assert_true(out.rank == 1 && out.shape[0] == 0 && out.data != NULL);
    free(out.data);
    assert_int_equal(count_files(), 1);
}

static void data_begin_at_a_multiple_of_64(void **state) {
    (void)state;
    double data[3] = {0};
    Array in = array_1d("x", DTYPE_F64, 3);
    in.data = data;
    assert_int_equal(npy_write(path, &in), STATUS_OK);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal((facts.st_size - 24) % 64, 0);
    assert_int_equal(facts.st_mode & 0600, 0600);
}

/* Headers as NumPy and others write them. */
static void headers_are_read(void **state) {
    (void)state;
    static const struct {
        int version;
        const char *header;
        DType dtype;
        int rank;
        size_t first, bytes;
    } good[] = {
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }          \n", DTYPE_F64, 1, 3, 24},
        {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", DTYPE_F32, 2, 2, 24},
        {3, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,2,3), }\n", DTYPE_I64, 3, 1, 48},
        {1, "{\"shape\":(4 ,),\"fortran_order\":False,\"descr\":\"|u1\"}", DTYPE_U8, 1, 4, 4},
        {1, "{'descr': '<i4', 'fortran_order': False, 'shape': (), }\n", DTYPE_I32, 0, 0, 4},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }\n", DTYPE_F64, 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        put(good[i].version, good[i].header, strlen(good[i].header), good[i].bytes);
        Array out;
        if (npy_read(path, &out) != STATUS_OK) fail_msg("%s", status_message());
        assert_true(out.dtype == good[i].dtype && out.rank == good[i].rank && out.shape[0] == good[i].first);
        for (size_t b = 0; b < good[i].bytes; b++) assert_int_equal(((unsigned char *)out.data)[b], b);
        free(out.data);
    }
}

static void assert_refused(const char *expected) {
    Array out = {.rank = 77};
    const Status status = npy_read(path, &out);
    if (status != STATUS_INVALID) fail_msg("%s: not refused for '%s'", status_word(status), expected);
    if (!strstr(status_message(), expected)) fail_msg("'%s' is not in: %s", expected, status_message());
    assert_non_null(strstr(status_message(), path));
    assert_int_equal(out.rank, 77);
}

static void malformed_headers_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        const char *message;
    } bad[] = {
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }", 32, "Fortran order; C order is expected"},
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }", 16, "'>f8' is big endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16, "dtype '<c8' is not supported; '<f2'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 16, "dtype '|O' is not supported"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,), }", 16, "dtype '' is not supported"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", 16, "dtype is structured"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1), }", 8, "at most 6 are supported"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", 8, "a dimension, 0 or more, is expected"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2), }", 16, "a one-dimensional shape is written (n,)"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, "character 71: too big"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }", 8,
         "larger than any memory"},
        {"{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2,), }", 16, "invalid token near 'Maybe'"},
        {"{'descr': '<f8', 'shape': (2,), }", 16, "each of 'descr', 'fortran_order', 'shape' once"},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16, "duplicate object key near '\"descr\"'"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}", 16, "'shape' once is expected"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)", 16, "'}' expected near end of file"},
        {"{'descr': '<f8", 16, "premature end of input"},
        {"", 0, "'[' or '{' expected near end of file"},
        {"[]", 0, "a dictionary with each of"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } x", 16, "end of file expected near 'x'"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", 23,
         "truncated: the header promises 24 bytes of data, the file holds 23"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", 0, "the file holds 0"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", 25, "trailing bytes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(1, bad[i].header, strlen(bad[i].header), bad[i].bytes);
        assert_refused(bad[i].message);
    }
    put(1, "{'descr': '<f8'\0, }", 19, 0);
    assert_refused("contains a NUL");
}

static void malformed_files_are_refused(void **state) {
    (void)state;
    put(0, "", 0, 0);
    assert_refused("not a .npy file");
    put(0, "\x93NUMPY", 6, 0);
    assert_refused("not a .npy file");
    put(0, "PK\x03\x04 this is an npz", 20, 0);
    assert_refused("not a .npy file but an archive of them");
    put(4, "{}", 2, 0);
    assert_refused("unknown .npy version 4.0; 1.0, 2.0 or 3.0 is expected");
    put(0, "\x93NUMPY\x01\x00\x76", 9, 0);
    assert_refused("truncated in its header");
    put(0, "\x93NUMPY\x01\x00\x76\x00{'descr", 17, 0);
    assert_refused("truncated in its header");
    put(0, "\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13, 0);
    assert_refused("malformed .npy header: 4294967295 bytes long");
    unlink(path);
    assert_refused("No such file");
}

static void pipes_are_read_and_checked(void **state) {
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    char command[512];
    snprintf(command, sizeof command,
             "printf \"\\223NUMPY\\1\\0\\71\\0{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }abc\" > %s &", path);
    assert_int_equal(system(command), 0);
    Array out;
    if (npy_read(path, &out) != STATUS_OK) fail_msg("%s", status_message());
    assert_memory_equal(out.data, "abc", 3);
    free(out.data);
    unlink(path);
}

static Array large(void) {
    Array array = array_1d("y", DTYPE_F64, 100000);
    array.data = calloc(100000, sizeof(double));
    return array;
}

static void full_disk_leaves_nothing(void **state) {
    (void)state;
    Array array = large();
    double old[] = {1, 2, 3};
    Array before = array_1d("y", DTYPE_F64, 3), after;
    before.data = old;
    assert_int_equal(npy_write(path, &before), STATUS_OK);

    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit tight = {65536, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const Status status = npy_write(path, &array);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);

    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(status_message(), path));
    assert_int_equal(count_files(), 1);
    assert_int_equal(npy_read(path, &after), STATUS_OK);
    assert_memory_equal(after.data, old, sizeof old);
    free(after.data);
    free(array.data);
}

static void unwritable_places_are_named(void **state) {
    (void)state;
    Array array = large();
    assert_int_equal(npy_write("/dev/full", &array), STATUS_IO);
    assert_non_null(strstr(status_message(), "/dev/full: cannot be written: No space left"));
    struct stat facts;
    assert_true(stat("/dev/full", &facts) == 0 && S_ISCHR(facts.st_mode));
    assert_int_equal(npy_write("/no/such/folder/y.npy", &array), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "/no/such/folder/y.npy"));
    assert_int_equal(npy_write(folder, &array), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "directory"));
    assert_int_equal(count_files(), 0);
    free(array.data);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(round_trips),
        IN_FOLDER(data_begin_at_a_multiple_of_64),
        IN_FOLDER(headers_are_read),
        IN_FOLDER(malformed_headers_are_refused),
        IN_FOLDER(malformed_files_are_refused),
        IN_FOLDER(pipes_are_read_and_checked),
        IN_FOLDER(full_disk_leaves_nothing),
        IN_FOLDER(unwritable_places_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
