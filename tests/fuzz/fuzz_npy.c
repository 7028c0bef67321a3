/* Whatever a file holds, npy_read returns an array whose every byte can be read and written back, or a message that names the file.
 */
#define _GNU_SOURCE
#include "base/npy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(int reference) {
    if (!reference) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const int fd = memfd_create("fuzz", 0);
    require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    Array array;
    const Status status = npy_read(path, &array);
    if (status != STATUS_OK) {
        require((status == STATUS_INVALID || status == STATUS_MEMORY) && strstr(status_message(), path));
    } else {
        const size_t length = array_bytes(&array);
        require(length < size && memcmp(array.data, bytes + size - length, length) == 0);
        free(array.data);
    }
    close(fd);
    return 0;
}
