#include "cli/folder.h"

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_TEXT = 1024 };

Status folder_make(const char *path) {
    char part[PATH_TEXT];
    if (snprintf(part, sizeof part, "%s", path) >= PATH_TEXT) return status_fail(STATUS_INVALID, "%s: the path is too long", path);
    for (char *end = part + 1;; end++) {
        if (*end != '/' && *end != '\0') continue;
        const char kept = *end;
        *end = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return output_refuse(part, "made", errno);
        if (kept == '\0') return STATUS_OK;
        *end = kept;
    }
}

static const char *const MADE[] = {"rows.jsonl", "REPORT.md", "figures"};
enum { MADE_COUNT = sizeof MADE / sizeof *MADE };

/* As record/row.c locks it: a run that goes on would write to a file that has moved away. */
static bool is_in_use(const char *path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool used = file >= 0 && flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (file >= 0) close(file);
    return used;
}

/* When the newest of them was written; 0: there is none. */
static time_t date_of(const char *folder) {
    char path[PATH_TEXT];
    struct stat info;
    time_t newest = 0;
    for (int i = 0; i < MADE_COUNT; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, MADE[i]) < PATH_TEXT && stat(path, &info) == 0 && info.st_mtime > newest)
            newest = info.st_mtime;
    return newest;
}

/* A name that is not taken: two may end in one second. */
static Status choose(const char *folder, time_t date, char *kept, size_t size) {
    char text[32];
    struct tm utc;
    struct stat info;
    gmtime_r(&date, &utc);
    strftime(text, sizeof text, "%Y%m%d-%H%M%S", &utc);
    int length = snprintf(kept, size, "%s/earlier/%s", folder, text);
    for (int n = 2; length > 0 && (size_t)length < size && lstat(kept, &info) == 0; n++)
        length = snprintf(kept, size, "%s/earlier/%s-%d", folder, text, n);
    return length > 0 && (size_t)length < size ? STATUS_OK : status_fail(STATUS_INVALID, "%s: the path is too long", folder);
}

static Status move_all(const char *folder, const char *kept) {
    char from[PATH_TEXT], to[PATH_TEXT];
    for (int i = 0; i < MADE_COUNT; i++) {
        if (snprintf(from, sizeof from, "%s/%s", folder, MADE[i]) >= PATH_TEXT ||
            snprintf(to, sizeof to, "%s/%s", kept, MADE[i]) >= PATH_TEXT)
            return status_fail(STATUS_INVALID, "%s: the path is too long", folder);
        if (rename(from, to) != 0 && errno != ENOENT)
            return status_fail(STATUS_IO, "%s cannot be moved to %s: %s", from, to, strerror(errno));
    }
    return STATUS_OK;
}

Status keep_earlier(const char *folder, char *kept, size_t size) {
    char rows[PATH_TEXT];
    *kept = '\0';
    const time_t date = date_of(folder);
    if (date == 0) return STATUS_OK;
    snprintf(rows, sizeof rows, "%s/%s", folder, MADE[0]);
    if (is_in_use(rows))
        return status_fail(STATUS_IO, "%s: another run is writing to it; wait for it or name another folder", rows);
    Status status = choose(folder, date, kept, size);
    if (status == STATUS_OK) status = folder_make(kept);
    if (status == STATUS_OK) status = move_all(folder, kept);
    if (status != STATUS_OK) *kept = '\0';
    return status;
}
