#define _GNU_SOURCE
#include "device/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
    *out = (Shared){.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (out->fd < 0) return status_fail(STATUS_MEMORY, "no shared memory for %s: %s", name, strerror(errno));
    if (ftruncate(out->fd, (off_t)(bytes < LEAST_BYTES ? LEAST_BYTES : bytes)) != 0) {
        const int why = errno;
        close(out->fd);
        *out = (Shared){.fd = -1};
        return status_fail(STATUS_MEMORY, "no %zu bytes of shared memory for %s: %s", bytes, name, strerror(why));
    }
    return map(name, bytes, PROT_READ | PROT_WRITE, out);
}

Status shared_seal(Shared *shared, bool writable) {
    const int size = F_SEAL_SHRINK | F_SEAL_GROW, all = size | F_SEAL_SEAL | (writable ? 0 : F_SEAL_FUTURE_WRITE);
    if (fcntl(shared->fd, F_ADD_SEALS, all) == 0) return STATUS_OK;
    if (fcntl(shared->fd, F_ADD_SEALS, size | F_SEAL_SEAL) != 0)
        return status_fail(STATUS_IO, "shared memory cannot be sealed: %s", strerror(errno));
    /* A kernel before 5.1: a descriptor that can only be read, of a file that only root can open anew for writing. */
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", shared->fd);
    const int fd = fchmod(shared->fd, S_IRUSR) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return status_fail(STATUS_IO, "shared memory cannot be made read-only: %s", strerror(errno));
    close(shared->fd);
    shared->fd = fd;
    return STATUS_OK;
}

/* The number in /proc/self/fd/N; -1 for another path. */
static int inherited_fd(const char *path) {
    int fd = -1, end = 0;
    return sscanf(path, "/proc/self/fd/%d%n", &fd, &end) == 1 && path[end] == '\0' ? fd : -1;
}

Status shared_open(const char *path, size_t bytes, bool writable, Shared *out) {
    *out = (Shared){.fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC)};
    if (out->fd < 0) return status_fail(STATUS_IO, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat facts;
    if (fstat(out->fd, &facts) != 0 || (size_t)facts.st_size < bytes) {
        close(out->fd);
        *out = (Shared){.fd = -1};
        return status_fail(STATUS_IO, "%s: shorter than the %zu bytes announced", path, bytes);
    }
    TRY(map(path, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, out));
    close(out->fd);
    if (inherited_fd(path) >= 0) close(inherited_fd(path));
    out->fd = -1;
    return STATUS_OK;
}

void shared_destroy(Shared *shared) {
    if (!shared->data) return;
    munmap(shared->data, shared->bytes < LEAST_BYTES ? LEAST_BYTES : shared->bytes);
    if (shared->fd >= 0) close(shared->fd);
    *shared = (Shared){.fd = -1};
}
