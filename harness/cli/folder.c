#include "cli/folder.h"

#include "base/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
