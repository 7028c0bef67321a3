#include "record/row.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct RowFile {
    int descriptor;
    bool regular; /* a pipe or a device cannot be cut back */
    char *path;
};

static Status refuse_open(const char *path) {
    const int error = errno;
    const bool usage = error == ENOENT || error == EISDIR || error == ENOTDIR;
    return status_fail(usage ? STATUS_INVALID : STATUS_IO, "%s: cannot be opened for writing results: %s", path, strerror(error));
}

static Status read_at(const RowFile *file, char *buffer, size_t bytes, off_t offset) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(file->descriptor, buffer + done, bytes - done, offset + (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return status_fail(STATUS_IO, "%s: cannot be read: %s", file->path, got < 0 ? strerror(errno) : "it shrank");
        done += (size_t)got;
    }
    return STATUS_OK;
}

/* Where the last line begins: behind the last newline, searched backwards in blocks. */
static Status last_line_start(const RowFile *file, off_t size, off_t *start) {
    char block[4096];
    for (off_t end = size; end > 0;) {
        const off_t length = end < (off_t)sizeof block ? end : (off_t)sizeof block;
        TRY(read_at(file, block, (size_t)length, end - length));
        for (off_t i = length; i > 0; i--) {
            if (block[i - 1] != '\n') continue;
            *start = end - length + i;
            return STATUS_OK;
        }
        end -= length;
    }
    *start = 0;
    return STATUS_OK;
}

/* A line without its newline is what a crash in the middle of a write leaves. */
static Status drop_cut_line(RowFile *file, bool *cut) {
    struct stat facts;
    if (fstat(file->descriptor, &facts) != 0) return status_fail(STATUS_IO, "%s: %s", file->path, strerror(errno));
    file->regular = S_ISREG(facts.st_mode);
    if (!file->regular || facts.st_size == 0) return STATUS_OK;
    char first;
    TRY(read_at(file, &first, 1, 0));
    if (first != '{')
        return status_fail(STATUS_INVALID, "%s: not a results file (it does not begin with '{'); left as it is", file->path);
    off_t start;
    TRY(last_line_start(file, facts.st_size, &start));
    if (start == facts.st_size) return STATUS_OK;
    if (ftruncate(file->descriptor, start) != 0)
        return status_fail(STATUS_IO, "%s: its last line is cut off and cannot be removed: %s", file->path, strerror(errno));
    *cut = true;
    return STATUS_OK;
}

Status rowfile_open(const char *path, RowFile **out, bool *cut) {
    *out = NULL;
    *cut = false;
    RowFile *file = calloc(1, sizeof *file);
    char *copy = strdup(path);
    if (!file || !copy) {
        free(file);
        free(copy);
        return status_fail(STATUS_MEMORY, "%s: no memory to open it", path);
    }
    *file = (RowFile){.descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666), .path = copy};
    if (file->descriptor < 0) {
        const Status status = refuse_open(path);
        rowfile_close(file);
        return status;
    }
    /* Two runs appending to one file would cut each other's lines back; file systems without locks are taken as they are. */
    Status status = STATUS_OK;
    if (flock(file->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = status_fail(STATUS_IO, "%s: another run is writing to it; wait for it or name another file", path);
    if (status == STATUS_OK) status = drop_cut_line(file, cut);
    if (status != STATUS_OK) {
        rowfile_close(file);
        return status;
    }
    *out = file;
    return STATUS_OK;
}

/* Whole or not at all, as far as the caller is concerned: 0, or the errno of what went wrong. */
static int write_all(int descriptor, const char *text, size_t length) {
    for (size_t done = 0; done < length;) {
        const ssize_t wrote = write(descriptor, text + done, length - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return errno;
        if (wrote == 0) return ENOSPC;
        done += (size_t)wrote;
    }
    /* A network file system may notice a full disk only here. Pipes and devices have nothing to flush. */
    if (fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) return errno;
    return 0;
}

Status rowfile_append(RowFile *file, const json_t *row) {
    if (!json_is_object(row)) return status_fail(STATUS_INTERNAL, "%s: a row must be a JSON object", file->path);
    char *text = json_dumps(row, JSON_COMPACT);
    if (!text)
        return status_fail(STATUS_MEMORY, "%s: the row cannot be written as JSON (no memory, or text that is not UTF-8)",
                           file->path);
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminating zero: one buffer, one write */
    const off_t before = lseek(file->descriptor, 0, SEEK_END);
    const int error = write_all(file->descriptor, text, length + 1);
    free(text);
    if (error == 0) return STATUS_OK;
    if (file->regular && before >= 0 && ftruncate(file->descriptor, before) != 0)
        return status_fail(STATUS_IO, "%s: a row could not be written (%s) nor its beginning removed (%s)", file->path,
                           strerror(error), strerror(errno));
    return status_fail(STATUS_IO, "%s: a row could not be written: %s; the rows before it are kept", file->path, strerror(error));
}

void rowfile_close(RowFile *file) {
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->path);
    free(file);
}

static Status read_line(const char *path, size_t number, const char *line, size_t length, bool whole, json_t *rows) {
    json_error_t error;
    json_t *row = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (!row)
        return status_fail(STATUS_INVALID, "%s:%zu:%d: not JSON: %s%s", path, number, error.column, error.text,
                           whole ? "" : " (the last line is cut off; 'rungs run --resume' removes it)");
    const json_t *schema = json_object_get(row, "schema");
    Status status = STATUS_OK;
    if (!json_is_object(row))
        status = status_fail(STATUS_INVALID, "%s:%zu: a line must be a JSON object with a 'kind'", path, number);
    else if (schema && json_integer_value(schema) != ROW_SCHEMA_VERSION)
        status = status_fail(STATUS_INVALID, "%s:%zu: schema %lld; this rungs reads schema %d", path, number,
                             (long long)json_integer_value(schema), ROW_SCHEMA_VERSION);
    else if (json_array_append(rows, row) != 0)
        status = status_fail(STATUS_MEMORY, "%s:%zu: no memory for the rows", path, number);
    json_decref(row);
    return status;
}

Status rowfile_read(const char *path, json_t **out) {
    *out = NULL;
    char *text;
    size_t length;
    TRY(text_read_file(path, &text, &length));
    json_t *rows = json_array();
    Status status = rows ? STATUS_OK : status_fail(STATUS_MEMORY, "%s: no memory for the rows", path);
    size_t number = 0;
    for (size_t begin = 0; begin < length && status == STATUS_OK;) {
        const char *newline = memchr(text + begin, '\n', length - begin);
        const size_t end = newline ? (size_t)(newline - text) : length;
        number++;
        if (strspn(text + begin, " \t\r") < end - begin)
            status = read_line(path, number, text + begin, end - begin, newline != NULL, rows);
        begin = end + 1;
    }
    free(text);
    if (status != STATUS_OK) {
        json_decref(rows);
        return status;
    }
    *out = rows;
    return STATUS_OK;
}

json_t *json_number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}
