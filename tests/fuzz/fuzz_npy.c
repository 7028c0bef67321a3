/* Whatever a file holds, npy_read returns an array whose every byte can be read and written back, or a message that names the file.
 */
#include "base/npy.h"
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

/* What was read is written and read again the same; a device is written as it is, and a folder that is missing is an error. */
static void and_back(const Array *array) {
    const char *folder = getenv("TMPDIR");
    char path[512];
    Array again;
    snprintf(path, sizeof path, "%.400s/rungs-fuzz-%d.npy", folder ? folder : "/tmp", (int)getpid());
    REQUIRE(npy_write(path, array) == STATUS_OK);
    REQUIRE(npy_read(path, &again) == STATUS_OK);
    REQUIRE(again.dtype == array->dtype && again.rank == array->rank && array_bytes(&again) == array_bytes(array));
    REQUIRE(memcmp(again.data, array->data, array_bytes(array)) == 0);
    free(again.data);
    unlink(path);
    REQUIRE(npy_write("/dev/null", array) == STATUS_OK && npy_write("/no/such/folder/a.npy", array) != STATUS_OK);
}

void fuzz_npy(const uint8_t *bytes, size_t size) {
    char path[FUZZ_PATH_MAX];
    const int fd = fuzz_file(bytes, size, path);
    Array array;
    const Status status = npy_read(path, &array);
    if (status != STATUS_OK) {
        REQUIRE((status == STATUS_INVALID || status == STATUS_MEMORY) && strstr(status_message(), path));
    } else {
        const size_t length = array_bytes(&array);
        REQUIRE(length < size && memcmp(array.data, bytes + size - length, length) == 0);
        if (size % 8 == 0) and_back(&array); /* files are slow: not for each */
        free(array.data);
    }
    close(fd);
}
