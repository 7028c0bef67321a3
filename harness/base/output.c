#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Facts of the folder of a path; *name: the last word of the path. */
static bool stat_folder(const char *path, struct stat *facts, const char **name) {
    char folder[OUTPUT_PATH_MAX];
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    return snprintf(folder, sizeof folder, "%.*s.", (int)(*name - path), path) < (int)sizeof folder && stat(folder, facts) == 0;
}

bool output_same(const char *one, const char *other) {
    struct stat a, b;
    const char *name, *other_name;
    const bool there = stat(one, &a) == 0, other_there = stat(other, &b) == 0;
    if (there || other_there) return there && other_there && same_file(&a, &b);
    return stat_folder(one, &a, &name) && stat_folder(other, &b, &other_name) && same_file(&a, &b) && strcmp(name, other_name) == 0;
}

/* A path that cannot be is the caller's mistake; a full disk is the machine's. */
static Status refuse(const Output *self, const char *what, int error) {
    const bool usage = error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG || error == ELOOP;
    return status_fail(usage ? STATUS_INVALID : STATUS_IO, "%s: cannot be %s: %s", self->path, what, strerror(error));
}

/* The number in /dev/fd/3, /proc/self/fd/3 or what links to them (/dev/stdout); -1: another path. */
static int descriptor_of(const char *path) {
    static const char *const FOLDERS[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        char *end;
        const size_t length = strlen(FOLDERS[i]);
        if (strncmp(path, FOLDERS[i], length) != 0) continue;
        const long number = strtol(path + length, &end, 10);
        if (end != path + length && *end == '\0' && number >= 0) return (int)number;
    }
    return -1;
}

/* One symbolic link further; 1: done, 0: it is none, -1: errno tells. */
static int follow(char path[OUTPUT_PATH_MAX]) {
    char text[OUTPUT_PATH_MAX], joined[OUTPUT_PATH_MAX];
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0) return errno == EINVAL || errno == ENOENT ? 0 : -1;
    text[length] = '\0';
    const char *slash = text[0] == '/' ? NULL : strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    if (snprintf(joined, sizeof joined, "%.*s%s", folder, path, text) >= (int)sizeof joined) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, joined, sizeof joined);
    return 1;
}

/* Beside the target, so that a rename is one step; with the mode that the file has or is to have. */
static Status open_draft(Output *self, const struct stat *there) {
    const char *slash = strrchr(self->target, '/');
    const int folder = slash ? (int)(slash - self->target) + 1 : 0;
    if (snprintf(self->draft, sizeof self->draft, "%.*s.rungs-XXXXXX", folder, self->target) >= (int)sizeof self->draft)
        return refuse(self, "created", ENAMETOOLONG);
    self->descriptor = mkstemp(self->draft);
    if (self->descriptor < 0) return refuse(self, "created", errno);
    fcntl(self->descriptor, F_SETFD, FD_CLOEXEC);
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(self->descriptor, there ? there->st_mode & 0777 : 0666 & ~mask) == 0) return STATUS_OK;
    return output_close(self, refuse(self, "created", errno));
}

Status output_open(const char *path, Output *out) {
    *out = (Output){.descriptor = -1, .path = path};
    struct stat facts;
    if (*path == '\0') return status_fail(STATUS_INVALID, "the name of an output file is empty");
    if (snprintf(out->target, sizeof out->target, "%s", path) >= (int)sizeof out->target)
        return refuse(out, "written", ENAMETOOLONG);
    const bool exists = stat(path, &facts) == 0;
    if (!exists && errno != ENOENT) return refuse(out, "written", errno);
    for (int links = 0;; links++) {
        const int inherited = descriptor_of(out->target);
        if (inherited >= 0) {
            out->descriptor = fcntl(inherited, F_DUPFD_CLOEXEC, 3);
            return out->descriptor < 0 ? refuse(out, "written", errno) : STATUS_OK;
        }
        if (exists && !S_ISREG(facts.st_mode)) { /* a rename would replace the device by a file */
            out->descriptor = open(path, O_WRONLY | O_CLOEXEC);
            return out->descriptor < 0 ? refuse(out, "written", errno) : STATUS_OK;
        }
        const int more = links < LINKS_MAX ? follow(out->target) : (errno = ELOOP, -1);
        if (more < 0) return refuse(out, "written", errno);
        if (more == 0) return open_draft(out, exists ? &facts : NULL);
    }
}

Status output_write(Output *self, const void *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t wrote = write(self->descriptor, (const char *)data + done, bytes - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0)
            return status_fail(STATUS_IO, "%s: cannot be written: %s%s", self->path, strerror(wrote < 0 ? errno : ENOSPC),
                               self->draft[0] ? "; the file is as it was" : "");
        done += (size_t)wrote;
    }
    return STATUS_OK;
}

/* A network file system may notice a full disk only here. */
static int put_in_place(Output *self) {
    int error = fsync(self->descriptor) != 0 ? errno : 0;
    if (close(self->descriptor) != 0 && !error) error = errno;
    if (!error && rename(self->draft, self->target) != 0) error = errno;
    if (error) unlink(self->draft);
    return error;
}

Status output_close(Output *self, Status written) {
    int error = 0;
    if (self->descriptor < 0) return written;
    if (self->draft[0] && written == STATUS_OK) {
        error = put_in_place(self);
    } else {
        if (close(self->descriptor) != 0) error = errno;
        if (self->draft[0]) unlink(self->draft);
    }
    self->descriptor = -1;
    if (written != STATUS_OK || error == 0) return written;
    return status_fail(STATUS_IO, "%s: cannot be written: %s%s", self->path, strerror(error),
                       self->draft[0] ? "; the file is as it was" : "");
}
