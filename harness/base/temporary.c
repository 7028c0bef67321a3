#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEVELS_MAX = 8, YOUNG_SECONDS = 60, STEP_MS = 10, DYING_MS = 3000 };
/* PREFIX, the number of the process that made it, "-" and TEMPORARY_SUFFIX letters. */
#define PREFIX "rungs-worker-"
#define MAKER "%07d-"
enum { MAKER_TEXT = 8 };

const char *temporary_place(void) {
    const char *named = getenv("TMPDIR");
    return named && *named ? named : "/tmp";
}

int temporary_file(void) {
    char path[TEMPORARY_PATH_MAX];
    const int unnamed = open(temporary_place(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return unnamed;
    if (snprintf(path, sizeof path, "%s/rungs-XXXXXX", temporary_place()) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int file = mkostemp(path, O_CLOEXEC); /* a file system that has only files with names */
    if (file >= 0) unlink(path);
    return file;
}

static Status refuse(const char *what, int error) {
    return status_fail(STATUS_IO, "no temporary %s can be made in %s (TMPDIR): %s", what, temporary_place(), strerror(error));
}

Status temporary_open(bool inherited, TemporaryFile *out) {
    out->descriptor = temporary_file();
    if (out->descriptor < 0) return refuse("file", errno);
    snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", out->descriptor);
    if (!inherited || fcntl(out->descriptor, F_SETFD, 0) == 0) return STATUS_OK;
    const int error = errno;
    close(out->descriptor);
    return refuse("file", error);
}

static int open_folder(int parent, const char *name) {
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Removes what is in the folder, and closes its descriptor. */
static void empty(int folder, int level) {
    DIR *directory = fdopendir(folder);
    if (!directory) {
        close(folder);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(directory), entry->d_name, 0) == 0 || level == LEVELS_MAX) continue;
        const int inner = open_folder(dirfd(directory), entry->d_name);
        if (inner < 0) continue;
        empty(inner, level + 1);
        unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    }
    closedir(directory);
}

/* Is the file or folder of this name the one that is open? */
static bool is_named(int parent, const char *name, const struct stat *open) {
    struct stat named;
    return fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_dev == open->st_dev && named.st_ino == open->st_ino;
}

/* `open` is the file or folder, with its lock, so no other process removes it. */
static void remove_named(int parent, const char *name, int open, mode_t type) {
    struct stat facts;
    if (fstat(open, &facts) != 0 || !is_named(parent, name, &facts)) return;
    const int inside = type == S_IFDIR ? dup(open) : -1;
    if (inside >= 0) empty(inside, 0);
    unlinkat(parent, name, type == S_IFDIR ? AT_REMOVEDIR : 0);
}

/* Takes the lock, for which it waits up to patience_ms. */
static bool lock(int descriptor, int patience_ms) {
    for (int waited = 0; flock(descriptor, LOCK_EX | LOCK_NB) != 0; waited += STEP_MS) {
        if (waited >= patience_ms) return false;
        poll(NULL, 0, STEP_MS);
    }
    return true;
}

/* Has the process ended that made it? A running one holds a lock or, if it is of an older version, is done with a file within
 * YOUNG_SECONDS. */
static bool is_abandoned(int descriptor, const struct stat *facts, int patience_ms) {
    const bool ours = S_ISDIR(facts->st_mode) ? (facts->st_mode & 07777) == 0700
                                              : facts->st_nlink == 1 && time(NULL) - facts->st_mtime > YOUNG_SECONDS;
    return ours && facts->st_uid == geteuid() && lock(descriptor, patience_ms);
}

/* What is called `prefix` and `letters` more. */
static void sweep(const char *place, const char *prefix, size_t letters, mode_t type, int patience_ms) {
    const size_t length = strlen(prefix);
    DIR *directory = opendir(place);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct stat facts;
        if (strncmp(entry->d_name, prefix, length) != 0 || strlen(entry->d_name) != length + letters) continue;
        const int found = openat(dirfd(directory), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (found < 0) continue;
        if (fstat(found, &facts) == 0 && (facts.st_mode & S_IFMT) == type && is_abandoned(found, &facts, patience_ms))
            remove_named(dirfd(directory), entry->d_name, found, type);
        close(found);
    }
    if (directory) closedir(directory);
}

void temporary_sweep_of(const char *place, const char *prefix, mode_t type) {
    sweep(place, prefix, TEMPORARY_SUFFIX, type, 0);
}

void temporary_sweep(void) {
    sweep(temporary_place(), PREFIX, MAKER_TEXT + TEMPORARY_SUFFIX, S_IFDIR, 0);
}

void temporary_sweep_after(pid_t maker) {
    char prefix[sizeof PREFIX + MAKER_TEXT + 8];
    snprintf(prefix, sizeof prefix, PREFIX MAKER, (int)maker);
    sweep(temporary_place(), prefix, TEMPORARY_SUFFIX, S_IFDIR, DYING_MS);
    temporary_sweep();
}

/* Makes a folder, locks it, and looks whether it is still there: another process may sweep before the lock. False: errno is set. */
static bool make(TemporaryFolder *out) {
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        struct stat facts;
        if (snprintf(out->path, sizeof out->path, "%s/" PREFIX MAKER "XXXXXX", temporary_place(), (int)getpid()) >=
            (int)sizeof out->path) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (!mkdtemp(out->path)) return false;
        out->descriptor = open_folder(AT_FDCWD, out->path);
        if (out->descriptor < 0) {
            if (errno == ENOENT) continue;
            return false;
        }
        if (flock(out->descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(out->descriptor, &facts) == 0 &&
            is_named(AT_FDCWD, out->path, &facts))
            return true;
        const bool swept = errno == EWOULDBLOCK || access(out->path, F_OK) != 0;
        if (!swept) return true; /* a file system without locks: no sweep gets one either */
        close(out->descriptor);
    }
    errno = EAGAIN;
    return false;
}

Status temporary_folder(TemporaryFolder *out) {
    temporary_sweep();
    if (make(out)) return STATUS_OK;
    return refuse("folder", errno);
}

void temporary_folder_remove(TemporaryFolder *self) {
    remove_named(AT_FDCWD, self->path, self->descriptor, S_IFDIR);
    close(self->descriptor);
    self->descriptor = -1;
}
