#include "base/output.h"

#include "base/process.h"
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINKS_MAX = 40, SUFFIX = TEMPORARY_SUFFIX };
static const char DRAFT[] = ".rungs-";

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
Status output_refuse(const char *path, const char *what, int error) {
    const bool usage = error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG || error == ELOOP;
    return status_fail(usage ? STATUS_INVALID : STATUS_IO, "%s: cannot be %s: %s", path, what, strerror(error));
}

static Status refuse(const Output *self, const char *what, int error) {
    return output_refuse(self->path, what, error);
}

Status output_make_folder(const char *path, unsigned mode) {
    char part[OUTPUT_PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return status_fail(STATUS_INVALID, "%s: the path is too long", path);
    for (char *end = part + 1;; end++) {
        if (*end != '/' && *end != '\0') continue;
        const char kept = *end;
        *end = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST) return output_refuse(part, "made", errno);
        if (kept == '\0') return STATUS_OK;
        *end = kept;
    }
}

Status output_open_fifo(const char *path, int *descriptor) {
    enum { TRIES = 100 };
    signal(SIGPIPE, SIG_IGN); /* a reader that ends is an error of the write */
    *descriptor = -1;
    for (int i = 0; i < TRIES && *descriptor < 0; i++) {
        *descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (*descriptor < 0 && errno != ENXIO) return output_refuse(path, "written", errno);
        TRY(interrupt_check());
        if (*descriptor < 0) nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    if (*descriptor < 0)
        return status_fail(STATUS_IO, "%s: no program has opened this FIFO for reading in %d s; start the reader first", path,
                           TRIES / 10);
    const int flags = fcntl(*descriptor, F_GETFL);
    if (flags >= 0 && fcntl(*descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0) return STATUS_OK;
    return output_refuse(path, "written", errno);
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

/* "FOLDER/NAME", NAME in the target's folder; false: too long. */
static bool name_beside(const Output *self, const char *name, char path[OUTPUT_PATH_MAX]) {
    const char *slash = strrchr(self->target, '/');
    const int folder = slash ? (int)(slash - self->target) + 1 : 0;
    return snprintf(path, OUTPUT_PATH_MAX, "%.*s%s", folder, self->target, name) < OUTPUT_PATH_MAX;
}

/* Beside the target, so that a rename is one step, and with the target's mode. Where the file system can, it has no name until it
 * is whole: then a killed process leaves nothing. */
static Status open_draft(Output *self, const struct stat *there) {
    char path[OUTPUT_PATH_MAX];
    mode_t mode = there ? there->st_mode & 0777 : 0;
    self->replaces = true;
    if (!name_beside(self, ".", path)) return refuse(self, "created", ENAMETOOLONG);
    temporary_sweep_of(path, DRAFT, S_IFREG);
    self->descriptor = open(path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (self->descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char template[sizeof DRAFT + SUFFIX];
        snprintf(template, sizeof template, "%sXXXXXX", DRAFT);
        if (!name_beside(self, template, self->draft)) return refuse(self, "created", ENAMETOOLONG);
        self->descriptor = mkstemp(self->draft);
        if (self->descriptor < 0) self->draft[0] = '\0';
        const mode_t mask = umask(0);
        umask(mask);
        if (!there) mode = 0666 & ~mask;
    }
    if (self->descriptor < 0) return refuse(self, "created", errno);
    fcntl(self->descriptor, F_SETFD, FD_CLOEXEC);
    (void)flock(self->descriptor, LOCK_EX | LOCK_NB);
    if ((!there && !self->draft[0]) || fchmod(self->descriptor, mode) == 0) return STATUS_OK;
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
        if (exists && S_ISFIFO(facts.st_mode)) return output_open_fifo(path, &out->descriptor);
        if (exists && !S_ISREG(facts.st_mode)) { /* a rename would replace the device by a file */
            out->descriptor = open(path, O_WRONLY | O_CLOEXEC);
            return out->descriptor < 0 ? refuse(out, "written", errno) : STATUS_OK;
        }
        const int more = links < LINKS_MAX ? follow(out->target) : (errno = ELOOP, -1);
        if (more < 0) return refuse(out, "written", errno);
        if (more == 0) return open_draft(out, exists ? &facts : NULL);
    }
}

bool output_write_all(int descriptor, const void *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t wrote = write(descriptor, (const char *)data + done, bytes - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote == 0) errno = ENOSPC;
        if (wrote <= 0) return false;
        done += (size_t)wrote;
    }
    return true;
}

static Status fail_write(const Output *self, int error) {
    return status_fail(STATUS_IO, "%s: cannot be written: %s%s", self->path, strerror(error),
                       self->replaces ? "; the file is as it was" : "");
}

Status output_write(Output *self, const void *data, size_t bytes) {
    return output_write_all(self->descriptor, data, bytes) ? STATUS_OK : fail_write(self, errno);
}

/* Gives a draft without a name one: that of the target if no file has it, else a random one beside it. 0, or an errno. */
static int name_draft(Output *self) {
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    enum { TRIES = 100 };
    char open[64], name[sizeof DRAFT + SUFFIX];
    unsigned char random[SUFFIX];
    snprintf(open, sizeof open, "/proc/self/fd/%d", self->descriptor);
    if (linkat(AT_FDCWD, open, AT_FDCWD, self->target, AT_SYMLINK_FOLLOW) == 0) return 0;
    for (int i = 0; i < TRIES && errno == EEXIST; i++) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return errno;
        memcpy(name, DRAFT, sizeof DRAFT);
        for (int k = 0; k < SUFFIX; k++) name[sizeof DRAFT - 1 + (size_t)k] = LETTERS[random[k] % 64];
        name[sizeof DRAFT - 1 + SUFFIX] = '\0';
        if (!name_beside(self, name, self->draft)) return ENAMETOOLONG;
        if (linkat(AT_FDCWD, open, AT_FDCWD, self->draft, AT_SYMLINK_FOLLOW) == 0) return 0;
        self->draft[0] = '\0';
    }
    return errno;
}

/* A network file system may notice a full disk only at fsync. */
static int put_in_place(Output *self) {
    int error = fsync(self->descriptor) != 0 ? errno : 0;
    if (!error && !self->draft[0]) error = name_draft(self);
    if (!error && self->draft[0] && rename(self->draft, self->target) != 0) error = errno;
    if (error && self->draft[0]) unlink(self->draft);
    return error;
}

Status output_close(Output *self, Status written) {
    int error = 0;
    if (self->descriptor < 0) return written;
    if (self->replaces && written == STATUS_OK)
        error = put_in_place(self);
    else if (self->draft[0])
        unlink(self->draft);
    if (close(self->descriptor) != 0 && !error) error = errno;
    self->descriptor = -1;
    return written != STATUS_OK || error == 0 ? written : fail_write(self, error);
}
