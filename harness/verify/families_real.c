#include "verify/families.h"

#include "base/npy.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/places.h"
#include "base/process.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MISSING_PACKAGE = 3 /* exit code of real_series.py */, MAX_SERIES = 64, EXPORT_SECONDS = 300 };

static const char *script(void) {
    return places_harness("harness/verify/real_series.py");
}
static const char *exports(void) {
    return places_build("real");
}

/* The table of series is in the script and only there: its entries that read `Series("name", ...`, also on several lines. */
static Status series_names(char **storage, const char *names[MAX_SERIES], int *count) {
    static const char mark[] = "Series(";
    TRY(text_read_file(script(), storage, NULL));
    *count = 0;
    for (char *at = *storage; *count < MAX_SERIES && (at = strstr(at, mark));) {
        at += strlen(mark);
        at += strspn(at, " \n");
        if (*at != '"') continue; /* the type of the entries */
        char *begin = at + 1, *end = strchr(begin, '"');
        if (!end) break;
        *end = '\0';
        names[(*count)++] = begin;
        at = end + 1;
    }
    return *count ? STATUS_OK : status_fail(STATUS_INTERNAL, "%s: no series found in it", script());
}

static Status unknown_series(const char *name, const char *const *names, int count) {
    Text known = {0};
    for (int i = 0; i < count; i++) TRY(text_append(&known, "%sreal:%s", i ? ", " : "", names[i]));
    const char *nearest = text_nearest(name, names, count);
    const Status status =
        status_fail(STATUS_INVALID, "unknown input family 'real:%s'%s%s%s (known: %s)", name,
                    nearest ? "; did you mean 'real:" : "", nearest ? nearest : "", nearest ? "'?" : "", known.text);
    text_free(&known);
    return status;
}

Status family_real_check(const char *name) {
    char *storage = NULL;
    const char *names[MAX_SERIES];
    int count;
    Status status = series_names(&storage, names, &count);
    if (status == STATUS_OK) {
        status = STATUS_INVALID;
        for (int i = 0; i < count; i++)
            if (strcmp(names[i], name) == 0) status = STATUS_OK;
        if (status != STATUS_OK) status = unknown_series(name, names, count);
    }
    free(storage);
    return status;
}

static void trim_end(Text *text) {
    while (text->length && strchr("\n ", text->text[text->length - 1])) text->text[--text->length] = '\0';
}

/* Two processes may export one series at once: the file appears whole. */
static Status export_series(const char *name, const char *path) {
    Output file;
    char unnamed[40];
    if (mkdir(exports(), 0777) != 0 && errno != EEXIST)
        return status_fail(STATUS_IO, "%s: cannot be made: %s", exports(), strerror(errno));
    Text said = {0};
    int exit_code = 0;
    TRY(output_open(path, &file));
    fcntl(file.descriptor, F_SETFD, 0); /* the script inherits it */
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", file.descriptor);
    const char *const argv[] = {places_python(), script(), name, "--out", unnamed, NULL};
    const ProcessLimits limits = {.seconds = EXPORT_SECONDS};
    Status status = process_capture(argv, &limits, &said, &exit_code);
    if (status == STATUS_OK && exit_code) {
        trim_end(&said);
        status = status_fail(exit_code == MISSING_PACKAGE ? STATUS_UNSUPPORTED : STATUS_IO, "real:%s: %s", name,
                             said.text ? said.text : "the export failed without a message");
    }
    text_free(&said);
    return output_close(&file, status);
}

Status family_real_fill(const char *name, uint64_t seed, uint64_t stream, Array *array) {
    TRY(family_real_check(name)); /* so the name is a plain word that can be part of a path */
    char path[1024];
    if ((size_t)snprintf(path, sizeof path, "%s/%s.npy", exports(), name) >= sizeof path)
        return status_fail(STATUS_INTERNAL, "real:%s: the name is too long", name);
    if (access(path, R_OK) != 0) TRY(export_series(name, path));
    Array series;
    TRY(npy_read(path, &series));
    const size_t length = array_count(&series), n = array_count(array);
    if (series.dtype != DTYPE_F64 || series.rank != 1 || length == 0) {
        free(series.data);
        return status_fail(STATUS_INVALID, "%s: not a series of f64; delete it, it will be made again", path);
    }
    const size_t start = (size_t)(((seed - 1) * 7919 + stream * 104729) % length);
    const double *from = series.data;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) number_put(array, i, from[(start + i) % length]);
    free(series.data);
    return STATUS_OK;
}
