#include "record/row.h"

#include "base/memory.h"
#include "base/output.h"
#include "base/temporary.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACE_MAX = 4200 };

struct RowFile {
    int descriptor;
    bool regular; /* a pipe or a device can be neither read again nor cut back */
    off_t bytes;  /* how long the file is at least */
    char *path;
    char *lost; /* why the file is not where it was, or not as long; NULL: it is */
};

static Status refuse_open(const char *path) {
    return output_refuse(path, "opened for writing results", errno);
}

/* What a crash in the middle of a write leaves: the beginning of a row as rowfile_append writes it. */
static bool is_cut_row(const char *line, size_t length) {
    static const char BEGIN[] = "{\"kind\":\"";
    size_t matched = 0;
    for (size_t i = 0; i < length && matched < sizeof BEGIN - 1; i++) {
        if (line[i] == ' ') continue;
        if (line[i] != BEGIN[matched++]) return false;
    }
    return true;
}

typedef struct Lines {
    json_t *rows; /* what each line holds; NULL: not kept */
    size_t cut;   /* where a last line begins that was cut off; the length of the text if none was */
} Lines;

static Status read_lines(const char *path, const char *text, size_t length, Lines *lines) {
    size_t number = 0;
    lines->cut = length;
    for (size_t begin = 0; begin < length;) {
        const char *newline = memchr(text + begin, '\n', length - begin);
        const size_t end = newline ? (size_t)(newline - text) : length;
        number++;
        if (strspn(text + begin, " \t\r") < end - begin) {
            json_error_t error;
            json_t *line = json_loadb(text + begin, end - begin, JSON_REJECT_DUPLICATES, &error);
            if (!line && memory_check() != STATUS_OK)
                return status_fail(STATUS_MEMORY, "%s:%zu: no memory to read it", path, number);
            if (!line && !newline && is_cut_row(text + begin, end - begin)) {
                lines->cut = begin;
                return STATUS_OK;
            }
            char place[PLACE_MAX];
            snprintf(place, sizeof place, "%s:%zu", path, number);
            Status status = line ? check_line(place, line)
                                 : status_fail(STATUS_INVALID, "%s:%zu:%d: not JSON: %s", path, number, error.column, error.text);
            if (status == STATUS_OK && lines->rows && json_array_append(lines->rows, line) != 0)
                status = status_fail(STATUS_MEMORY, "%s:%zu: no memory for the rows", path, number);
            json_decref(line);
            TRY(status);
        }
        begin = end + 1;
    }
    return STATUS_OK;
}

/* A file that is not ours, or that nobody could read with more rows behind it, stays as it is. A last line that was cut off is
 * removed; one that lacks nothing but its newline gets it. */
static Status judge(RowFile *file, bool *cut) {
    char *text;
    size_t length;
    Lines lines = {0};
    TRY(text_read_file(file->path, &text, &length));
    Status status = read_lines(file->path, text, length, &lines);
    const bool open_end = status == STATUS_OK && lines.cut == length && length > 0 && text[length - 1] != '\n';
    free(text);
    if (status != STATUS_OK) return status_fail(status, "%s; nothing was written to it: name another --out", status_message());
    *cut = lines.cut < length;
    if (*cut && ftruncate(file->descriptor, (off_t)lines.cut) != 0)
        return status_fail(STATUS_IO, "%s: its last line is cut off and cannot be removed: %s", file->path, strerror(errno));
    if (open_end && write(file->descriptor, "\n", 1) != 1)
        return status_fail(STATUS_IO, "%s: cannot be written: %s", file->path, strerror(errno));
    return STATUS_OK;
}

static Status open_and_lock(RowFile *file, bool *cut) {
    struct stat facts;
    if (stat(file->path, &facts) == 0 && S_ISFIFO(facts.st_mode)) return output_open_fifo(file->path, &file->descriptor);
    file->descriptor = open(file->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file->descriptor < 0) return refuse_open(file->path);
    if (fstat(file->descriptor, &facts) != 0) return status_fail(STATUS_IO, "%s: %s", file->path, strerror(errno));
    file->regular = S_ISREG(facts.st_mode);
    /* Two runs appending to one file would cut each other's lines back; file systems without locks are taken as they are. */
    if (file->regular && flock(file->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return status_fail(STATUS_IO, "%s: another run is writing to it; wait for it or name another file", file->path);
    TRY(file->regular ? judge(file, cut) : STATUS_OK);
    file->bytes = lseek(file->descriptor, 0, SEEK_END);
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
    *file = (RowFile){.descriptor = -1, .path = copy};
    const Status status = open_and_lock(file, cut);
    if (status != STATUS_OK) {
        rowfile_close(file);
        return status;
    }
    *out = file;
    return STATUS_OK;
}

bool rowfile_can_be_read(const RowFile *file) {
    return file->regular;
}

/* 0, or an errno. A network file system may notice a full disk only at fsync; pipes and devices have nothing to flush. */
static int write_and_flush(int descriptor, const char *text, size_t length) {
    if (!output_write_all(descriptor, text, length)) return errno;
    return fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP ? 0 : errno;
}

Status rowfile_append(RowFile *file, const json_t *row) {
    TRY(status_prefix(memory_check(), "%s: a row could not be written: ", file->path));
    if (!json_is_object(row)) return status_fail(STATUS_INTERNAL, "%s: a row must be a JSON object", file->path);
    char *text = json_dumps(row, JSON_COMPACT);
    if (!text)
        return status_fail(STATUS_MEMORY, "%s: the row cannot be written as JSON (no memory, or text that is not UTF-8)",
                           file->path);
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminating zero: one buffer, one write */
    const off_t before = lseek(file->descriptor, 0, SEEK_END);
    const int error = write_and_flush(file->descriptor, text, length + 1);
    memory_free(text);
    if (error == 0) file->bytes += (off_t)length + 1;
    if (error == 0) return rowfile_check(file);
    if (file->regular && before >= 0 && ftruncate(file->descriptor, before) != 0)
        return status_fail(STATUS_IO, "%s: a row could not be written (%s) nor its beginning removed (%s)", file->path,
                           strerror(error), strerror(errno));
    return status_fail(STATUS_IO, "%s: a row could not be written: %s; the rows before it are kept", file->path, strerror(error));
}

/* ---- A file that is moved or removed while rows are written to it. */

static bool leads_to(const char *path, const struct stat *file) {
    struct stat found;
    return stat(path, &found) == 0 && found.st_dev == file->st_dev && found.st_ino == file->st_ino;
}

/* saved: a template of mkstemp(), which becomes the path of the copy. False: errno is set. */
static bool save(int from, const struct stat *facts, char *saved) {
    const int to = mkstemp(saved);
    off_t done = 0;
    if (to < 0) return false;
    bool good = fchmod(to, facts->st_mode & 0777) == 0;
    while (good && done < facts->st_size) good = sendfile(to, from, &done, (size_t)(facts->st_size - done)) > 0;
    good = good && fsync(to) == 0;
    good = close(to) == 0 && good;
    if (!good) unlink(saved);
    return good;
}

/* STATUS_IO if `path` no longer leads to the file that was opened, or if that is shorter than `bytes`. The message says where the
 * rows are: under the new path or, if the file was removed, in a copy made beside `path` or else in $TMPDIR. */
static Status check_place(const char *path, int descriptor, off_t bytes) {
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

Status rowfile_check(RowFile *file) {
    if (!file->regular) return STATUS_OK;
    if (file->lost) return status_fail(STATUS_IO, "%s", file->lost);
    const Status status = check_place(file->path, file->descriptor, file->bytes);
    if (status != STATUS_OK) file->lost = strdup(status_message());
    return status;
}

void rowfile_close(RowFile *file) {
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->path);
    free(file->lost);
    free(file);
}

Status rowfile_read(const char *path, json_t **out) {
    *out = NULL;
    char *text;
    size_t length;
    TRY(text_read_file(path, &text, &length));
    Lines lines = {.rows = json_array()};
    Status status =
        lines.rows ? read_lines(path, text, length, &lines) : status_fail(STATUS_MEMORY, "%s: no memory for the rows", path);
    if (status == STATUS_OK && lines.cut < length) {
        size_t number = 1;
        for (size_t i = 0; i < lines.cut; i++) number += text[i] == '\n';
        status = status_fail(STATUS_INVALID, "%s:%zu: the last line is cut off; 'rungs run --resume' with this --out removes it",
                             path, number);
    }
    free(text);
    if (status == STATUS_OK)
        *out = lines.rows;
    else
        json_decref(lines.rows);
    return status;
}

Status rowfile_replace(const char *path, const json_t *lines) {
    Output file;
    size_t i;
    json_t *line;
    TRY(output_open(path, &file));
    Status status = memory_check();
    json_array_foreach((json_t *)lines, i, line) {
        char *text = status == STATUS_OK ? json_dumps(line, JSON_COMPACT) : NULL;
        if (status == STATUS_OK && !text) status = status_fail(STATUS_MEMORY, "%s: no memory for a line", path);
        if (status == STATUS_OK) status = output_write(&file, text, strlen(text));
        if (status == STATUS_OK) status = output_write(&file, "\n", 1);
        memory_free(text);
    }
    return output_close(&file, status);
}
