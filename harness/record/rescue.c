#include "record/rescue.h"

#include "base/output.h"
#include "base/temporary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool leads_to(const char *path, const struct stat *file) {
    struct stat found;
    return stat(path, &found) == 0 && found.st_dev == file->st_dev && found.st_ino == file->st_ino;
}

static bool copy(int from, int to) {
    char piece[65536];
    off_t done = 0;
    ssize_t got;
    while ((got = pread(from, piece, sizeof piece, done)) > 0 && output_write_all(to, piece, (size_t)got)) done += got;
    return got == 0 && fsync(to) == 0;
}

/* saved: a template of mkstemp(), which becomes the path of the copy. False: errno is set. */
static bool save(int from, const struct stat *facts, char *saved) {
    const int to = mkstemp(saved);
    if (to < 0) return false;
    bool good = fchmod(to, facts->st_mode & 0777) == 0 && copy(from, to);
    good = close(to) == 0 && good;
    if (!good) unlink(saved);
    return good;
}

Status rescue_check(const char *path, int descriptor, off_t bytes) {
    char open[64], text[OUTPUT_PATH_MAX];
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) return STATUS_OK;
    if (facts.st_size < bytes)
        return status_fail(STATUS_IO, "%s: was cut from %lld to %lld bytes while rows were written to it; the rows before are lost",
                           path, (long long)bytes, (long long)facts.st_size);
    if (leads_to(path, &facts)) return STATUS_OK;
    snprintf(open, sizeof open, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(open, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    if (facts.st_nlink > 0 && leads_to(text, &facts))
        return status_fail(STATUS_IO, "%s: was moved while rows were written to it; they are in %s", path, text);
    bool saved = snprintf(text, sizeof text, "%s.saved-XXXXXX", path) < (int)sizeof text && save(descriptor, &facts, text);
    if (!saved)
        saved = snprintf(text, sizeof text, "%s/rungs-rows.saved-XXXXXX", temporary_place()) < (int)sizeof text &&
                save(descriptor, &facts, text);
    if (!saved)
        return status_fail(STATUS_IO, "%s: was removed while rows were written to it; they cannot be saved in %s (TMPDIR): %s",
                           path, temporary_place(), strerror(errno));
    return status_fail(STATUS_IO, "%s: was removed while rows were written to it; they are saved in %s", path, text);
}
