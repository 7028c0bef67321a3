#include "cli/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

Status lock_wait(const char *path) {
    if (!path) return STATUS_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC); /* in /tmp one may not open another user's file for creation */
    if (file < 0) file = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return status_fail(STATUS_IO, "--lock %s: %s", path, strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return STATUS_OK;
    fprintf(stderr, "rungs: waiting for %s\n", path);
    while (flock(file, LOCK_EX) != 0)
        if (errno != EINTR) return status_fail(STATUS_IO, "--lock %s: %s", path, strerror(errno));
    return STATUS_OK;
}
