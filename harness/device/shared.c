#include "device/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_BYTES = 4096 }; /* an empty mapping does not exist */

static size_t mapped_bytes(size_t bytes) {
    return bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
}

static Status map(int fd, const char *name, size_t bytes, bool writable, void **data) {
    *data = mmap(NULL, mapped_bytes(bytes), writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (*data != MAP_FAILED) return STATUS_OK;
    return status_fail(STATUS_MEMORY, "cannot map %zu bytes for %s: %s", bytes, name, strerror(errno));
}

Status shared_create(const char *name, size_t bytes, Shared *out) {
    void *data = NULL;
    *out = (Shared){.fd = -1};
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return status_fail(STATUS_MEMORY, "no shared memory for %s: %s", name, strerror(errno));
    const Status status =
        ftruncate(fd, (off_t)mapped_bytes(bytes)) == 0
            ? map(fd, name, bytes, true, &data)
            : status_fail(STATUS_MEMORY, "no %zu bytes of shared memory for %s: %s", bytes, name, strerror(errno));
    if (status == STATUS_OK)
        *out = (Shared){.data = data, .bytes = bytes, .fd = fd};
    else
        close(fd);
    return status;
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

Status shared_open(int fd, const char *name, size_t bytes, bool writable, Shared *out) {
    struct stat facts;
    *out = (Shared){.fd = -1};
    if (fstat(fd, &facts) != 0) return status_fail(STATUS_IO, "%s: no file was handed over: %s", name, strerror(errno));
    if ((size_t)facts.st_size < bytes)
        return status_fail(STATUS_IO, "%s: the file is shorter than the %zu bytes announced", name, bytes);
    void *data = NULL;
    TRY(map(fd, name, bytes, writable, &data));
    *out = (Shared){.data = data, .bytes = bytes, .fd = -1};
    return STATUS_OK;
}

/* One byte, and the files beside it. */
typedef struct Parcel {
    char byte;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * SHARED_MAX_FILES)];
    struct iovec text;
    struct msghdr message;
} Parcel;

static void wrap(Parcel *parcel, int count) {
    memset(parcel, 0, sizeof *parcel);
    parcel->text = (struct iovec){.iov_base = &parcel->byte, .iov_len = 1};
    parcel->message = (struct msghdr){.msg_iov = &parcel->text,
                                      .msg_iovlen = 1,
                                      .msg_control = parcel->control,
                                      .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count)};
}

Status shared_send(int socket, const int *files, int count) {
    Parcel parcel;
    if (count < 1 || count > SHARED_MAX_FILES) return status_fail(STATUS_INTERNAL, "%d files at once", count);
    wrap(&parcel, count);
    struct cmsghdr *header = CMSG_FIRSTHDR(&parcel.message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
    memcpy(CMSG_DATA(header), files, sizeof(int) * (size_t)count);
    return sendmsg(socket, &parcel.message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1
               ? STATUS_OK
               : status_fail(STATUS_IO, "files cannot be handed to a worker: %s", strerror(errno));
}

Status shared_receive(int socket, int *files, int *count) {
    Parcel parcel;
    *count = 0;
    wrap(&parcel, SHARED_MAX_FILES);
    if (recvmsg(socket, &parcel.message, MSG_CMSG_CLOEXEC) != 1) return status_fail(STATUS_IO, "no files were handed over");
    const struct cmsghdr *header = CMSG_FIRSTHDR(&parcel.message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        *count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(files, CMSG_DATA(header), sizeof(int) * (size_t)*count);
    }
    return parcel.message.msg_flags & MSG_CTRUNC ? status_fail(STATUS_IO, "too few descriptors for the arrays of a case")
                                                 : STATUS_OK;
}

void shared_clear(const Shared *shared) {
    if (shared->bytes > 0 && madvise(shared->data, shared->bytes, MADV_REMOVE) != 0) memset(shared->data, 0, shared->bytes);
}

void shared_destroy(Shared *shared) {
    if (!shared->data) return;
    munmap(shared->data, mapped_bytes(shared->bytes));
    if (shared->fd >= 0) close(shared->fd);
    *shared = (Shared){.fd = -1};
}
