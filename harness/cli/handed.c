#include "cli/handed.h"

#include "base/output.h"
#include "cli/folder.h"
#include "cli/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Can the file be written? A FIFO or a device is not opened: that would wait for its reader. */
static Status probe(const char *path, bool makes_folders) {
    struct stat facts;
    const bool exists = stat(path, &facts) == 0;
    Output file;
    if (exists ? S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode) : makes_folders && errno == ENOENT) return STATUS_OK;
    TRY(output_open(path, &file));
    (void)output_close(&file, STATUS_CHECK); /* leaves the old file in place */
    return STATUS_OK;
}

Status handed_check(const OutputName *names, const char *const *inputs, bool makes_folders) {
    for (const OutputName *name = names; name->option; name++) {
        if (!name->path) continue;
        for (const OutputName *other = names; other < name; other++)
            if (other->path && output_same(name->path, other->path))
                return status_fail(STATUS_INVALID, "%s and %s name the same file, %s", other->option, name->option, name->path);
        TRY(inputs_spare(name->option, name->path, inputs));
        TRY(probe(name->path, makes_folders));
    }
    return STATUS_OK;
}

/* "VERB PATH_BYTES BEGINS_BYTES DATA_BYTES FOLDERS\n", then so many bytes each. VERB: write, remove, end. */
typedef struct Record {
    char verb[16], path[OUTPUT_PATH_MAX];
    const char *begins, *data; /* begins: how a file has to begin to be replaced or removed; empty: any way */
    size_t begins_bytes, data_bytes;
    bool folders; /* make the folders of the path */
} Record;

/* Moves *at behind the record. */
static Status read_record(const char **at, const char *end, Record *out) {
    size_t path_bytes;
    int folders, used = 0;
    char line[128] = "";
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    if (newline && newline - *at < (long)sizeof line) memcpy(line, *at, (size_t)(newline - *at));
    if (sscanf(line, "%15s %zu %zu %zu %d%n", out->verb, &path_bytes, &out->begins_bytes, &out->data_bytes, &folders, &used) != 5 ||
        line[used] != '\0')
        return status_fail(STATUS_INTERNAL, "Python wrote no record for an output file: %.60s", line);
    const size_t left = (size_t)(end - newline) - 1;
    if (path_bytes > left || out->begins_bytes > left - path_bytes || out->data_bytes > left - path_bytes - out->begins_bytes)
        return status_fail(STATUS_INTERNAL, "the record of an output file is cut off");
    if (path_bytes >= sizeof out->path) return status_fail(STATUS_INVALID, "%.60s...: the path is too long", newline + 1);
    memcpy(out->path, newline + 1, path_bytes);
    out->path[path_bytes] = '\0';
    out->begins = newline + 1 + path_bytes;
    out->data = out->begins + out->begins_bytes;
    out->folders = folders != 0;
    *at = out->data + out->data_bytes;
    return STATUS_OK;
}

/* Is there a regular file that does not begin as this one has to? */
static bool is_foreign(const Record *record) {
    struct stat facts;
    if (record->begins_bytes == 0 || stat(record->path, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    char *text = malloc(record->begins_bytes);
    FILE *file = fopen(record->path, "rb");
    const bool ours = text && file && fread(text, 1, record->begins_bytes, file) == record->begins_bytes &&
                      memcmp(text, record->begins, record->begins_bytes) == 0;
    if (file) fclose(file);
    free(text);
    return !ours;
}

static Status check(const Record *record, const char *const *inputs, bool *complete) {
    if (strcmp(record->verb, "remove") == 0) return STATUS_OK;
    if (strcmp(record->verb, "end") == 0) {
        *complete = true;
        return STATUS_OK;
    }
    if (strcmp(record->verb, "write") != 0)
        return status_fail(STATUS_INTERNAL, "%s: unknown record '%s' for an output file", record->path, record->verb);
    if (is_foreign(record))
        return status_fail(STATUS_INVALID,
                           "%s: was not written by 'rungs report', so it is left as it is. Name another file, or move it away",
                           record->path);
    TRY(inputs_spare("the output", record->path, inputs));
    return probe(record->path, record->folders);
}

static Status write_file(const Record *record) {
    Output file;
    char *slash = strrchr(record->path, '/');
    if (record->folders && slash && slash != record->path) {
        char folder[OUTPUT_PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - record->path), record->path);
        TRY(folder_make(folder));
    }
    TRY(output_open(record->path, &file));
    return output_close(&file, output_write(&file, record->data, record->data_bytes));
}

static Status carry_out(const Record *record) {
    struct stat facts;
    if (strcmp(record->verb, "write") == 0) return write_file(record);
    if (strcmp(record->verb, "remove") != 0) return STATUS_OK;
    const bool known = lstat(record->path, &facts) == 0 && S_ISREG(facts.st_mode) && !is_foreign(record);
    return known && unlink(record->path) != 0 ? output_refuse(record->path, "removed", errno) : STATUS_OK;
}

static Status write_all(const char *text, size_t length, const char *const *inputs, bool *complete) {
    Record record;
    for (const char *at = text; at < text + length;) {
        TRY(read_record(&at, text + length, &record));
        TRY(check(&record, inputs, complete));
    }
    for (const char *at = text; *complete && at < text + length;) {
        TRY(read_record(&at, text + length, &record));
        TRY(carry_out(&record));
    }
    return STATUS_OK;
}

Status handed_write(int records, const char *const *inputs, bool *complete) {
    struct stat facts;
    *complete = false;
    if (fstat(records, &facts) != 0 || facts.st_size == 0) return STATUS_OK;
    const size_t length = (size_t)facts.st_size;
    const char *text = mmap(NULL, length, PROT_READ, MAP_PRIVATE, records, 0);
    if (text == MAP_FAILED) return status_fail(STATUS_MEMORY, "no memory for the output files: %s", strerror(errno));
    const Status status = write_all(text, length, inputs, complete);
    munmap((void *)text, length);
    return status;
}
