#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#endif
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEVELS_MAX = 8, SUFFIX = 6 };
static const char PREFIX[] = "rungs-usercode-";

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

/* Is the folder of this name the one that is open? */
static bool is_named(int parent, const char *name, const struct stat *open) {
    struct stat named;
    return fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_dev == open->st_dev && named.st_ino == open->st_ino;
}

/* `folder` holds the lock, so no other process removes it. */
static void remove_named(int parent, const char *name, int folder) {
    struct stat facts;
    const int inside = dup(folder);
    if (inside >= 0) empty(inside, 0);
    if (fstat(folder, &facts) == 0 && is_named(parent, name, &facts)) unlinkat(parent, name, AT_REMOVEDIR);
}

static bool is_ours(int folder) {
    struct stat facts;
    return fstat(folder, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && (facts.st_mode & 07777) == 0700;
}

void temporary_sweep(void) {
    const size_t length = strlen(PREFIX);
    DIR *place = opendir(temporary_place());
    for (struct dirent *entry; place && (entry = readdir(place));) {
        if (strncmp(entry->d_name, PREFIX, length) != 0 || strlen(entry->d_name) != length + SUFFIX) continue;
        const int folder = open_folder(dirfd(place), entry->d_name);
        if (folder < 0) continue;
        if (is_ours(folder) && flock(folder, LOCK_EX | LOCK_NB) == 0) remove_named(dirfd(place), entry->d_name, folder);
        close(folder);
    }
    if (place) closedir(place);
}

/* Makes a folder, locks it, and looks whether it is still there: another process may sweep before the lock. False: errno is set. */
static bool make(TemporaryFolder *out) {
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        struct stat facts;
        if (snprintf(out->path, sizeof out->path, "%s/%sXXXXXX", temporary_place(), PREFIX) >= (int)sizeof out->path) {
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
    remove_named(AT_FDCWD, self->path, self->descriptor);
    close(self->descriptor);
    self->descriptor = -1;
}
