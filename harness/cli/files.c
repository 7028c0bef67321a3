#include "cli/files.h"

#include "base/output.h"
#include "base/places.h"
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Folders. */

enum { PATH_TEXT = 1024 };

static const char *const MADE[] = {"rows.jsonl", "REPORT.md", "figures"};
enum { MADE_COUNT = sizeof MADE / sizeof *MADE };

/* As record/rowfile.c locks it: a run that goes on would write to a file that has moved away. */
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

Status files_keep_earlier(const char *folder, char *kept, size_t size) {
    char rows[PATH_TEXT];
    *kept = '\0';
    const time_t date = date_of(folder);
    if (date == 0) return STATUS_OK;
    snprintf(rows, sizeof rows, "%s/%s", folder, MADE[0]);
    if (is_in_use(rows))
        return status_fail(STATUS_IO, "%s: another run is writing to it; wait for it or name another folder", rows);
    Status status = choose(folder, date, kept, size);
    if (status == STATUS_OK) status = output_make_folder(kept, 0777);
    if (status == STATUS_OK) status = move_all(folder, kept);
    if (status != STATUS_OK) *kept = '\0';
    return status;
}

/* ---- Inputs. */

/* Devices may be read and written at once. */
static bool is_file(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* STATUS_INVALID if `out`, given with `option`, is one of the files that are read (NULL-terminated), also by another name. */
static Status spare(const char *option, const char *out, const char *const *inputs) {
    for (; *inputs; inputs++)
        if (is_file(out) && output_same(out, *inputs))
            return status_fail(STATUS_INVALID, "%s %s: this would replace the input %s; name another file", option, out, *inputs);
    return STATUS_OK;
}

Status files_spare(const char *option, const char *out, const char *input) {
    char path[OUTPUT_PATH_MAX];
    struct stat facts;
    if (snprintf(path, sizeof path, "%s", input) >= (int)sizeof path) return STATUS_OK;
    for (char *colon; stat(path, &facts) != 0 && (colon = strrchr(path, ':'));) *colon = '\0';
    return spare(option, out, (const char *const[]){path, NULL});
}

int files_campaign(const char *verb, glob_t *files) {
    return glob(places_project("results/[0-9]*.jsonl"), 0, NULL, files) == 0
               ? EXIT_GOOD
               : cli_usage(verb, "no file DATE-DEVICE-COMMIT.jsonl in results/; name the files with the rows");
}

/* ---- Outputs. */

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

static const char *path_of(const CliOption *option) {
    return option->kind == CLI_FILE ? *(const char **)option->target : NULL;
}

Status files_check(const CliOption *options, const char *const *inputs, bool makes_folders) {
    for (const CliOption *o = options; o->name; o++) {
        char option[64];
        const char *const path = path_of(o);
        if (!path) continue;
        for (const CliOption *other = options; other < o; other++)
            if (path_of(other) && output_same(path, path_of(other)))
                return status_fail(STATUS_INVALID, "--%s and --%s name the same file, %s", other->name, o->name, path);
        snprintf(option, sizeof option, "--%s", o->name);
        TRY(spare(option, path, inputs));
        TRY(probe(path, makes_folders));
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
    TRY(spare("the output", record->path, inputs));
    return probe(record->path, record->folders);
}

static Status write_file(const Record *record) {
    Output file;
    char *slash = strrchr(record->path, '/');
    if (record->folders && slash && slash != record->path) {
        char folder[OUTPUT_PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - record->path), record->path);
        TRY(output_make_folder(folder, 0777));
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

Status files_write(int records, const char *const *inputs, bool *complete) {
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
