#define _GNU_SOURCE
#include "device/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_BYTES = 4096 }; /* an empty mapping does not exist */

static Status map(const char *name, size_t bytes, int protection, Shared *out) {
    const size_t mapped = bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
    out->data = mmap(NULL, mapped, protection, MAP_SHARED, out->fd, 0);
    out->bytes = bytes;
    if (out->data != MAP_FAILED) return STATUS_OK;
    const int why = errno;
    close(out->fd);
    *out = (Shared){.fd = -1};
    return status_fail(STATUS_MEMORY, "cannot map %zu bytes for %s: %s", bytes, name, strerror(why));
}

Status shared_create(const char *name, size_t bytes, Shared *out) {
    *out = (Shared){.fd = memfd_create(name, MFD_CLOEXEC)};
    if (out->fd < 0) return status_fail(STATUS_MEMORY, "no shared memory for %s: %s", name, strerror(errno));
    if (ftruncate(out->fd, (off_t)(bytes < LEAST_BYTES ? LEAST_BYTES : bytes)) != 0) {
        const int why = errno;
        close(out->fd);
        *out = (Shared){.fd = -1};
        return status_fail(STATUS_MEMORY, "no %zu bytes of shared memory for %s: %s", bytes, name, strerror(why));
    }
    return map(name, bytes, PROT_READ | PROT_WRITE, out);
}

Status shared_open(const char *path, size_t bytes, int writable, Shared *out) {
    *out = (Shared){.fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC)};
    if (out->fd < 0) return status_fail(STATUS_IO, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat facts;
    if (fstat(out->fd, &facts) != 0 || (size_t)facts.st_size < bytes) {
        close(out->fd);
        *out = (Shared){.fd = -1};
        return status_fail(STATUS_IO, "%s: shorter than the %zu bytes announced", path, bytes);
    }
    return map(path, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, out);
}

void shared_destroy(Shared *shared) {
    if (!shared->data) return;
    munmap(shared->data, shared->bytes < LEAST_BYTES ? LEAST_BYTES : shared->bytes);
    close(shared->fd);
    *shared = (Shared){.fd = -1};
}
